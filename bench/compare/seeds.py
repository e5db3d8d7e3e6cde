"""FreezePipe's random numbers (worker/model/seed.cc): what is drawn depends on (use, seed, position) alone."""

import struct

import torch
import xxhash

WEIGHTS, ORDER, AUGMENTATION = 1, 2, 3


def mix(use, *parts):
    return xxhash.xxh3_64_intdigest(struct.pack(f"<{len(parts)}Q", *parts), use)


def generator(use, *parts):
    return torch.Generator().manual_seed(mix(use, *parts))
