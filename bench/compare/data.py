"""CIFAR-10 in memory, with FreezePipe's normalisation, order and augmentation: every engine sees the same batches."""

import functools

import numpy
import torch

import seeds

RECORD = 1 + 3 * 32 * 32
PADDING = 4


def read(path, limit):
    records = numpy.fromfile(path, dtype=numpy.uint8, count=limit * RECORD).reshape(-1, RECORD)
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images, torch.from_numpy(records[:, 0].astype(numpy.int64))


class Batch:
    """Images and labels are made when asked for: not every process of a pipeline needs both."""

    def __init__(self, rows, images, labels, channels_last):
        self._rows, self._images, self._labels, self._channels_last = rows, images, labels, channels_last

    def __len__(self):
        return self._rows

    @functools.cached_property
    def images(self):
        images = self._images()
        return images.contiguous(memory_format=torch.channels_last) if self._channels_last else images

    @functools.cached_property
    def labels(self):
        return self._labels()


class Data:
    """`share`: (rank, ranks) where each of several processes trains with a part of every batch."""

    def __init__(self, config, share=(0, 1)):
        self._rank, self._ranks = share
        self.seed, self.batch, self.augment = config["seed"], config["batch"], config["augment"]
        self.channels_last = config["layout"] == "ChannelsLast"
        parts, left = [], config["train"]
        for k in range(1, 6):
            if left > 0:
                parts.append(read(f"{config['cifar10']}/data_batch_{k}.bin", left))
                left -= len(parts[-1][0])
        pixels = torch.cat([images for images, _ in parts])
        self.labels = torch.cat([labels for _, labels in parts])
        test_pixels, self.test_labels = read(f"{config['cifar10']}/test_batch.bin", config["test"])
        values = pixels.double() / 255
        mean = values.mean((0, 2, 3), keepdim=True)
        deviation = values.std((0, 2, 3), keepdim=True, correction=0)

        def normalised(images):
            return ((images.double() / 255 - mean) / deviation).float()

        self.images, self.test_images = normalised(pixels), normalised(test_pixels)
        if self.augment:
            padded = torch.nn.functional.pad(self.images, [PADDING] * 4)
            # A view: [sample, channel, y, x of the crop, 32, 32]
            self.crops = padded.unfold(2, 32, 1).unfold(3, 32, 1)
        self.epoch = -1

    @property
    def steps_per_epoch(self):
        return -(-len(self.images) // self.batch)

    def _enter(self, epoch):
        self.epoch = epoch
        samples = len(self.images)
        self.order = torch.randperm(samples, generator=seeds.generator(seeds.ORDER, self.seed, epoch))
        if self.augment:
            draws = [seeds.mix(seeds.AUGMENTATION, self.seed, epoch, sample) for sample in range(samples)]
            choices = 2 * PADDING + 1
            self.flip = torch.tensor([draw >> 63 for draw in draws], dtype=torch.bool)
            self.y = torch.tensor([(draw & 0x7FFFFFFF) % choices for draw in draws])
            x = torch.tensor([((draw >> 31) & 0x7FFFFFFF) % choices for draw in draws])
            # FreezePipe crops the mirrored image, here the crop is mirrored.
            self.x = torch.where(self.flip, 2 * PADDING - x, x)

    def train_batch(self, step):
        epoch, place = divmod(step, self.steps_per_epoch)
        if epoch != self.epoch:
            self._enter(epoch)
        samples = self.order[place * self.batch:(place + 1) * self.batch].chunk(self._ranks)[self._rank]
        return Batch(len(samples), lambda: self._train_images(samples), lambda: self.labels[samples],
                     self.channels_last)

    def _train_images(self, samples):
        if not self.augment:
            return self.images[samples]
        images = self.crops[samples, :, self.y[samples], self.x[samples]]
        return torch.where(self.flip[samples].view(-1, 1, 1, 1), images.flip(3), images)

    def test_batches(self, size):
        for begin in range(0, len(self.test_images), size):
            images, labels = self.test_images[begin:begin + size], self.test_labels[begin:begin + size]
            yield Batch(len(labels), lambda: images, lambda: labels, self.channels_last)
