"""The engines that are compared, in the order they run in."""

import dataclasses

DEVICES = 2
# torch.distributed.pipelining refuses boundaries that are channels-last: contiguous is its best layout.
CONTIGUOUS_AT_BEST = ("gpipe", "1f1b")
RULE = {"policy": "GradientChange"}
NO_CACHE = {**RULE, "cache": {"memoryLimit": "0"}}
TIME = {"objective": "Time"}
REPLICATE = {"objective": "Time", "whenReleased": "Replicate"}
# 0: the planner chooses.
AUTO = {"stages": 0, "replicas": 0}


@dataclasses.dataclass(frozen=True)
class Engine:
    title: str
    # A peer: its script, and what it is told beside the conditions.
    script: str = ""
    options: dict = dataclasses.field(default_factory=dict)
    # FreezePipe: fields of the manifest's spec.
    spec: dict = dataclasses.field(default_factory=dict)
    # Run in the layout "best" as well.
    best: bool = False
    only: str = ""
    # A control that trains for as many epochs as `unfrozen` does in the time of `timed`.
    timed: str = ""
    unfrozen: str = ""

    @property
    def ours(self):
        return not self.script

    def runs_in(self, setting, layout):
        return self.only in ("", setting) and (layout == "contiguous" or self.best)


def torchgpipe(title, checkpoint, threads, worker_per_stage=False, best=False):
    options = {"checkpoint": checkpoint, "threads": threads, "worker_per_stage": worker_per_stage}
    return Engine(title, "torchgpipe_peer.py", options, best=best)


def freezepipe(title, freeze=None, release=None, pipeline=None, **others):
    spec = {"freeze": freeze or {"policy": "None"}, "pipeline": pipeline or {"stages": DEVICES}}
    return Engine(title, spec={**spec, **({"release": release} if release else {})}, **others)


ENGINES = {
    "torchgpipe": torchgpipe("torchgpipe, except_last (its default), 1 thread a stage", "except_last", 1, best=True),
    "torchgpipe-threads": torchgpipe("torchgpipe, except_last, 2 threads", "except_last", 2),
    "torchgpipe-workers": torchgpipe("torchgpipe, a worker a stage", "except_last", 1, worker_per_stage=True),
    "torchgpipe-never-workers": torchgpipe("torchgpipe, a worker a stage, no recompute", "never", 1,
                                           worker_per_stage=True),
    "torchgpipe-never": torchgpipe("torchgpipe, no recompute, 2 threads (its best)", "never", 2, best=True),
    "gpipe": Engine("torch.distributed.pipelining, GPipe", "pipelining_peer.py", {"schedule": "GPipe", "threads": 1}),
    "1f1b": Engine("torch.distributed.pipelining, 1F1B", "pipelining_peer.py", {"schedule": "1F1B", "threads": 1}),
    "plain": Engine("plain PyTorch, 2 threads", "plain_peer.py", {"threads": 2, "micro_batches": 1}, best=True),
    "ddp": Engine("PyTorch DistributedDataParallel, Gloo, 2 processes", "ddp_peer.py", {"threads": 1}, best=True),
    "unfrozen": freezepipe("FreezePipe, nothing frozen", best=True),
    "unfrozen-auto": freezepipe("FreezePipe, nothing frozen, planner's plan", pipeline=AUTO, best=True),
    "frozen": freezepipe("FreezePipe, frozen layers computed", NO_CACHE, TIME),
    "cache": freezepipe("FreezePipe, frozen layers cached", RULE, TIME, best=True),
    "replicate": freezepipe("FreezePipe, cached, freed devices as replicas", RULE, REPLICATE, best=True),
    "share": freezepipe("FreezePipe, cached, devices given back", RULE, best=True),
    "auto": freezepipe("FreezePipe, cached, replicas, planner's plan", RULE, REPLICATE, AUTO, best=True),
    "views": freezepipe("FreezePipe, as before with 4 views a sample", {**RULE, "cache": {"views": 4}}, REPLICATE,
                        AUTO, only="augmented"),
    "linear": freezepipe("control: late linear schedule, cached", {"policy": "Schedule"}, TIME),
    "short": freezepipe("control: nothing frozen, only as long as cached", timed="cache", unfrozen="unfrozen"),
    "short-auto": freezepipe("control: nothing frozen, planner's plan, only as long", pipeline=AUTO, timed="auto",
                             unfrozen="unfrozen-auto"),
}
