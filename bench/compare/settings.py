"""What is trained. A setting, a layout, a seed and the sizes make a run's conditions, the same for every engine."""

import dataclasses

BATCH = 128
MICRO_BATCHES = 4


@dataclasses.dataclass(frozen=True)
class Setting:
    lr: float
    epochs: int
    augment: bool = False
    pretrained: bool = False


SETTINGS = {
    "scratch": Setting(lr=0.05, epochs=15),
    "finetune": Setting(lr=0.02, epochs=10, pretrained=True),
    "augmented": Setting(lr=0.05, epochs=15, augment=True),
}
# "contiguous" is the one order in memory that all take; "best" is channels-last for those that take it.
LAYOUTS = {"contiguous": "Contiguous", "best": "ChannelsLast"}


@dataclasses.dataclass(frozen=True)
class Conditions:
    setting: str
    layout: str
    seed: int
    train: int
    test: int
    epochs: int
    preset: str
    cifar10: str
    weights: str
    cores: tuple

    @property
    def key(self):
        return self.setting, self.layout, self.seed

    @property
    def sizes(self):
        return [self.train, self.test, self.epochs]

    @property
    def lr(self):
        return SETTINGS[self.setting].lr

    @property
    def augment(self):
        return SETTINGS[self.setting].augment

    @property
    def memory_format(self):
        return LAYOUTS[self.layout]
