"""One run of a peer: its script in a process of its own."""

import json
import os
import pathlib
import sys

import record
import settings

HERE = pathlib.Path(__file__).resolve().parent


def run(engine, conditions, folder):
    folder.mkdir(parents=True)
    config = {
        "cifar10": conditions.cifar10, "train": conditions.train, "test": conditions.test, "seed": conditions.seed,
        "epochs": conditions.epochs, "lr": conditions.lr, "augment": conditions.augment, "batch": settings.BATCH,
        "micro_batches": settings.MICRO_BATCHES, "weights": conditions.weights, "layout": conditions.memory_format,
        "cores": conditions.cores, "result": str(folder / "result.json"), **engine.options,
    }
    (folder / "config.json").write_text(json.dumps(config))
    # Threads that a library starts itself read the variable, not what the main thread was set to.
    env = {**os.environ, "OMP_NUM_THREADS": str(config["threads"])}
    used = record.run([sys.executable, HERE / engine.script, folder / "config.json"], folder / "log", conditions.cores,
                      env)
    return {**json.loads((folder / "result.json").read_text()), **used}
