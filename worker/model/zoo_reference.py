"""Computes networks of the zoo with plain PyTorch and compares.

Argument: a folder of files "<network>.safetensors". Each holds the network's tensors under their
export names, "input", and what FreezePipe computed in training mode: "output", and "input_grad" of
sum(output ** 2); all in float64.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import load_file


def batch_norm(x, w, name):
    return F.batch_norm(x, None, None, w[f'{name}.weight'], w[f'{name}.bias'], training=True)


def conv(x, w, name, stride=1):
    weight = w[f'{name}.weight']
    return F.conv2d(x, weight, w.get(f'{name}.bias'), stride, weight.shape[-1] // 2)


def linear(x, w, name):
    return F.linear(x, w[f'{name}.weight'], w[f'{name}.bias'])


def norm(x, w, name):
    return F.layer_norm(x, x.shape[-1:], w[f'{name}.weight'], w[f'{name}.bias'], 1e-6)


def pooled_head(x, w):
    return linear(x.mean((2, 3)), w, 'head.linear')


def vgg11(x, w, pooled_after):
    for i in range(8):
        x = F.relu(batch_norm(conv(x, w, f'conv{i + 1}.conv'), w, f'conv{i + 1}.bn'))
        if i in pooled_after:
            x = F.max_pool2d(x, 2)
    return pooled_head(x, w)


def residual_block(x, w, name, convolutions, strided, stride):
    y = x
    for i in range(1, convolutions + 1):
        y = conv(y, w, f'{name}.conv{i}', stride if i == strided else 1)
        y = batch_norm(y, w, f'{name}.bn{i}')
        y = F.relu(y) if i < convolutions else y
    if f'{name}.shortcut_conv.weight' in w:
        x = batch_norm(conv(x, w, f'{name}.shortcut_conv', stride), w, f'{name}.shortcut_bn')
    return F.relu(y + x)


def resnet(x, w, blocks, bottleneck):
    x = F.relu(batch_norm(conv(x, w, 'stem.conv'), w, 'stem.bn'))
    for stage, count in enumerate(blocks):
        for block in range(count):
            x = residual_block(x, w, f'block{stage + 1}.{block + 1}', 3 if bottleneck else 2,
                               2 if bottleneck else 1, 2 if stage and not block else 1)
    return pooled_head(x, w)


def attention(x, w, name):
    heads = x.shape[-1] // 64
    q, k, v = linear(x, w, f'{name}.qkv').chunk(3, -1)
    outputs = []
    for h in range(heads):
        part = slice(64 * h, 64 * (h + 1))
        scores = q[..., part] @ k[..., part].transpose(1, 2) / 8
        outputs.append(scores.softmax(-1) @ v[..., part])
    return linear(torch.cat(outputs, -1), w, f'{name}.proj')


def vit(x, w):
    weight = w['embedding.projection.weight']
    x = F.conv2d(x, weight, w['embedding.projection.bias'], weight.shape[-1])
    x = x.flatten(2).transpose(1, 2)
    x = torch.cat([w['embedding.class_token'].expand(len(x), -1, -1), x], 1)
    x = x + w['embedding.position']
    for i in range(1, 13):
        x = x + attention(norm(x, w, f'block{i}.norm1'), w, f'block{i}')
        hidden = F.gelu(linear(norm(x, w, f'block{i}.norm2'), w, f'block{i}.fc1'))
        x = x + linear(hidden, w, f'block{i}.fc2')
    return linear(norm(x, w, 'head.norm')[:, 0], w, 'head.linear')


NETWORKS = {
    'vgg11_bn_32': lambda x, w: vgg11(x, w, {0, 1, 3, 5, 7}),
    'vgg11_bn_28': lambda x, w: vgg11(x, w, {0, 1, 3}),
    'resnet18_32': lambda x, w: resnet(x, w, [2, 2, 2, 2], False),
    'resnet50_32': lambda x, w: resnet(x, w, [3, 4, 6, 3], True),
    'resnet20_32': lambda x, w: resnet(x, w, [3, 3, 3], False),
    'vit_tiny_32': vit,
}



def check(file):
    tensors = load_file(file)
    x = tensors['input'].requires_grad_()
    output = NETWORKS[file.stem](x, tensors)
    output.square().sum().backward()
    torch.testing.assert_close(tensors['output'], output.detach(), rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(tensors['input_grad'], x.grad, rtol=1e-6,
                               atol=1e-8 * x.grad.abs().max().item())


files = sorted(pathlib.Path(sys.argv[1]).glob('*.safetensors'))
assert {file.stem for file in files} == set(NETWORKS), files
for file in files:
    print(file.stem, flush=True)
    check(file)
