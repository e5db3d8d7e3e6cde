"""resnet50, vgg16_bn and vit_base for images of 32 pixels in plain PyTorch: the layers of worker/model/*.cc, as a flat
nn.Sequential that pipelines cut."""

import torch
from torch import nn
from torch.nn import functional as F

CLASSES = 10


def conv_unit(inputs, outputs, pool=False):
    parts = [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)]
    return nn.Sequential(*parts, *([nn.MaxPool2d(2)] if pool else []))


def pooling_head(inputs):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, CLASSES))


def vgg16_bn():
    layers, inputs = [], 3
    for channels, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for i in range(count):
            layers.append(conv_unit(inputs, channels, pool=i == count - 1))
            inputs = channels
    return nn.Sequential(*layers, pooling_head(inputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = nn.Identity() if stride == 1 and inputs == outputs else nn.Sequential(
            nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def resnet50():
    layers, inputs = [conv_unit(3, 64)], 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for block in range(count):
            layers.append(Bottleneck(inputs, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            inputs = 4 * (64 << stage)
    return nn.Sequential(*layers, pooling_head(inputs))


class Embedding(nn.Module):
    def __init__(self, patch, patches, width):
        super().__init__()
        self.projection = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(1e-6 * torch.randn(1, 1, width))
        self.position = nn.Parameter(0.02 * torch.randn(1, 1 + patches, width))

    def forward(self, x):
        patches = self.projection(x).flatten(2).transpose(1, 2)
        return torch.cat([self.class_token.expand(len(x), -1, -1), patches], 1) + self.position


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6)
        self.qkv, self.proj = linear(width, 3 * width), linear(width, width)
        self.fc1, self.fc2 = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        samples, tokens, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(samples, tokens, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(*qkv).transpose(1, 2).reshape(samples, tokens, width)
        x = x + self.proj(attended)
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class TokenHead(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(width, 1e-6), linear(width, CLASSES)

    def forward(self, x):
        return self.linear(self.norm(x[:, 0]))


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer


def vit_base():
    width, heads, patch = 768, 12, 4
    blocks = [TransformerBlock(width, heads) for _ in range(12)]
    return nn.Sequential(Embedding(patch, (32 // patch) ** 2, width), *blocks, TokenHead(width))


NETWORKS = {"resnet50": resnet50, "vgg16_bn": vgg16_bn, "vit_base": vit_base}


def parameters(name):
    """Parameters of each layer, to be compared with what `freezepipe-worker describe` says."""
    return [sum(p.numel() for p in layer.parameters()) for layer in NETWORKS[name]()]
