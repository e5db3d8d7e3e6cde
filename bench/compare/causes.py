"""Where the time that FreezePipe saves against torchgpipe (except_last, 1 thread a stage) comes from: engines in a chain
in which each differs from the one before by one cause. A cause's part is the difference of their seconds, in percent of
torchgpipe's; it depends on the order of the chain, and may be negative."""

from statistics_of_runs import Spread

CHAIN = [
    ("torchgpipe", None),
    ("torchgpipe-workers", "forward on a worker a stage"),
    ("torchgpipe-never-workers", "no recompute"),
    ("unfrozen", "engine: backward in parallel, processes, allocator, balance"),
    ("frozen", "no backward for frozen layers, repartition"),
    ("cache", "frozen layers' outputs cached"),
    ("replicate", "freed devices as replicas"),
    ("auto", "planner's plan from the start"),
]


def causes(runs):
    """(cause, percentage points by seeds) of each, as far as the chain was run. All of it is in one layout alone."""
    parts = []
    if runs.layout != "contiguous":
        return parts
    for (before, _), (after, cause) in zip(CHAIN, CHAIN[1:]):
        base = {row["seed"]: row["train_seconds"] for row in runs.rows(CHAIN[0][0])}
        points = [100 * (b["train_seconds"] - a["train_seconds"]) / base[a["seed"]]
                  for a, b in runs.pairs(after, before) if a["seed"] in base]
        if not points:
            break
        parts.append((cause, Spread.of(points)))
    return parts
