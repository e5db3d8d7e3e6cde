"""Before anything is measured: do all engines that cut batches compute the same? Four steps from the same weights on
the same batches, in micro-batches everywhere, must give the same losses."""

import dataclasses

import freezepipe_engine
import peer_engine
from engines import ENGINES, Engine

# Relative, of each step. Sums are taken in another order in each engine, and what that differs by grows with every
# update: mostly it stays below 1e-6, but one ReLU or pooling that chooses otherwise makes it 5e-4 after three.
TOLERANCES = [1e-5, 1e-4, 1e-3, 1e-2]
REFERENCE = Engine("plain PyTorch in micro-batches", "plain_peer.py", {"threads": 1})
CHECKED = ["torchgpipe", "torchgpipe-workers", "torchgpipe-never", "gpipe", "1f1b", "unfrozen", "unfrozen-auto"]


def same_losses(conditions, chosen, folder, bin_dir):
    batches = len(TOLERANCES) // 2
    small = dataclasses.replace(conditions, train=128 * batches, test=128, epochs=2)
    expected = peer_engine.run(REFERENCE, small, folder / "reference")["losses"]
    for name in CHECKED:
        if name not in chosen:
            continue
        engine = ENGINES[name]
        if engine.ours:
            # A window of one step, so that each step's loss is told.
            freeze = {**engine.spec["freeze"], "windowsPerEpoch": batches}
            engine = dataclasses.replace(engine, spec={**engine.spec, "freeze": freeze})
            losses = freezepipe_engine.run(engine, small, folder / name, bin_dir)["losses"]
        else:
            losses = peer_engine.run(engine, small, folder / name)["losses"]
        off = [abs(a - b) / b for a, b in zip(losses, expected, strict=True)]
        print(f"check: {conditions.setting}, {conditions.layout}, {name}: losses of plain PyTorch to "
              + " ".join(f"{error:.0e}" for error in off), flush=True)
        if any(error > tolerance for error, tolerance in zip(off, TOLERANCES, strict=True)):
            raise SystemExit(f"{name} computes something else: losses {losses}, expected {expected}")
