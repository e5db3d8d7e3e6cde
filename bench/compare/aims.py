"""What the project aims at: percent less than a peer needs, by setting."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Aim:
    what: str
    peer: str
    # FreezePipe's engines that it is said of.
    engines: tuple
    scratch: float
    augmented: float
    field: str = "train_seconds"

    def percent(self, setting):
        return self.augmented if setting == "augmented" else self.scratch


TIMED = ("auto", "replicate", "cache")
AIMS = [
    Aim("time against torchgpipe, except_last, 1 thread a stage", "torchgpipe", TIMED, 70, 58),
    Aim("time against torchgpipe at its best", "torchgpipe-never", TIMED, 50, 30),
    Aim("time against 1F1B", "1f1b", TIMED, 45, 25),
    Aim("time against plain PyTorch", "plain", TIMED, 25, 0),
    Aim("engine alone against 1F1B", "1f1b", ("unfrozen-auto", "unfrozen"), 15, 15),
    Aim("device-seconds against torchgpipe, the same", "torchgpipe", ("auto", "share"), 72, 60, "device_seconds"),
]
