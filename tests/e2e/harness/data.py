"""A small data set that a network can learn, in MNIST's format, made of nothing but numbers drawn by a seed."""

import random
import struct

SIDE = 28
CLASSES = 10


def write_data_set(folder, train=2048, test=256):
    """Each class is a picture of its own, seen through noise."""
    draw = random.Random(1)
    pictures = [draw.randbytes(SIDE * SIDE) for _ in range(CLASSES)]
    folder.mkdir(parents=True, exist_ok=True)
    for part, count in {"train": train, "t10k": test}.items():
        labels = bytes(i % CLASSES for i in range(count))
        images = b"".join(_seen(pictures[label], draw) for label in labels)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, SIDE, SIDE) + images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels)


def _seen(picture, draw):
    noise = draw.randbytes(len(picture))
    return bytes((p + 3 * n) // 4 for p, n in zip(picture, noise))
