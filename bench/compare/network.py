"""vgg11_bn for small images in plain PyTorch: the layers, tensor names and initial weights of worker/model/vgg.cc."""

import math
from collections import OrderedDict

import torch
from safetensors.torch import load_file
from torch import nn

import seeds

CHANNELS = [64, 128, 256, 256, 512, 512, 512, 512]
POOLED = {0, 1, 3, 5, 7}
WIDTH = 0.25
CLASSES = 10


def network():
    """A flat nn.Sequential of nine layers, as pipelines want it."""
    layers, inputs = OrderedDict(), 3
    for i, channels in enumerate(CHANNELS):
        outputs = int(channels * WIDTH)
        unit = OrderedDict(conv=nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), bn=nn.BatchNorm2d(outputs),
                           relu=nn.ReLU(inplace=True))
        if i in POOLED:
            unit["pool"] = nn.MaxPool2d(2)
        layers[f"conv{i + 1}"] = nn.Sequential(unit)
        inputs = outputs
    layers["head"] = nn.Sequential(OrderedDict(pool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(),
                                               linear=nn.Linear(inputs, CLASSES)))
    return nn.Sequential(layers)


def loaded(path, layout):
    """The network with these weights."""
    net = network()
    missing, unexpected = net.load_state_dict(load_file(path), strict=False)
    if unexpected or any(not name.endswith("num_batches_tracked") for name in missing):
        raise SystemExit(f"{path} is of another network: missing {missing}, unexpected {unexpected}")
    return net.to(memory_format=torch.channels_last) if layout == "ChannelsLast" else net


def initial_weights(seed):
    """The tensors that FreezePipe starts from, drawn anew (worker/model/weight_init.cc)."""
    tensors = {}
    for index, (name, layer) in enumerate(network().named_children()):
        generator = seeds.generator(seeds.WEIGHTS, seed, index)
        for key, value in layer.state_dict().items():
            if key in ("conv.weight", "linear.weight"):
                bound = 1 / math.sqrt(value[0].numel())
            if key in ("conv.weight", "linear.weight", "linear.bias"):
                value = torch.empty_like(value).uniform_(-bound, bound, generator=generator)
            if not key.endswith("num_batches_tracked"):
                tensors[f"{name}.{key}"] = value
    return tensors
