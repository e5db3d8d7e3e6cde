"""What the benchmark scripts share: running a job, reading what it left."""

import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "release" / "bin"


def cifar_spec(data, *, train=10_000, test=10_000, epochs=15, lr=0.05, micro_batches=4, workers=1, seed=0):
    """vgg11_bn at a quarter of its width on part of CIFAR-10: the setting of every figure here."""
    return {
        "model": {"zoo": {"name": "vgg11_bn", "widthMultiplier": 0.25}},
        "dataset": {"format": "Cifar10", "path": str(data), "limit": {"train": train, "test": test}},
        "training": {
            "epochs": epochs,
            "batchSize": 128,
            "seed": seed,
            "memoryFormat": "ChannelsLast",
            "optimizer": {"type": "SGD", "learningRate": lr, "momentum": 0.9, "weightDecay": 0.0005},
        },
        "pipeline": {"microBatches": micro_batches},
        "freeze": {"policy": "None"},
        "worker": {"count": workers},
    }


def start(spec, folder, bin_dir=BIN, prefix=()):
    """Starts `freezepipe run` on the spec; wait for it, then read `result`."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "apiVersion": "freezepipe.io/v1alpha1",
        "kind": "FreezePipeJob",
        "metadata": {"name": "bench"},
        "spec": spec,
    }
    (folder / "job.json").write_text(json.dumps(manifest))
    log = open(folder / "log", "w")
    command = [*prefix, str(bin_dir / "freezepipe"), "run", str(folder / "job.json"), "--output",
               str(folder / "output")]
    return subprocess.Popen(command, stdout=log, stderr=log)


def run(spec, folder, bin_dir=BIN, prefix=()):
    if start(spec, folder, bin_dir, prefix).wait() != 0:
        raise SystemExit(f"run failed: {folder}/log\n" + (folder / "log").read_text()[-2000:])
    return result(folder)


def result(folder):
    """(summary, events) of a finished run."""
    output = folder / "output"
    events = [json.loads(line) for line in (output / "events.jsonl").read_text().splitlines()]
    return json.loads((output / "summary.json").read_text()), events
