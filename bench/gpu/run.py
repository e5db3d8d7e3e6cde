#!/usr/bin/env python3
"""FreezePipe beside 1F1B of torch.distributed.pipelining and DistributedDataParallel, on NCCL and 4 GPUs.

    bench/gpu/run.py --cifar10 DIR [--networks resnet50 vgg16_bn vit_base] [--engines NAME ...] [--seeds 0]
                     [--epochs 10] [--batch 512] [--gpus 4] [--out DIR] [--bin DIR] [--dry-run]

All of CIFAR-10, 32-bit, contiguous, 8 micro-batches, cosine; evaluation after every epoch. All see the same batches;
the networks have the same layers, and random weights of their own. Time is from the first step to the end of the last
evaluation. --dry-run checks that the peers' networks have FreezePipe's layers and prints manifests and commands.
FreezePipe's activation cache works on CPUs alone, so frozen layers are computed here.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

BENCH = pathlib.Path(__file__).resolve().parent.parent
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(BENCH), str(BENCH / "compare")]
import common
import peers

OPTIMIZERS = {
    "resnet50": {"type": "SGD", "learningRate": 0.1, "momentum": 0.9, "weightDecay": 0.0005},
    "vgg16_bn": {"type": "SGD", "learningRate": 0.05, "momentum": 0.9, "weightDecay": 0.0005},
    "vit_base": {"type": "AdamW", "learningRate": 0.0003, "weightDecay": 0.05},
}
MICRO_BATCHES = 8
RULE = {"policy": "GradientChange"}
AUTO = {"stages": 0, "replicas": 0}
REPLICATE = {"objective": "Time", "whenReleased": "Replicate"}
# Fields of FreezePipe's manifest; None for a peer.
ENGINES = {
    "1f1b": None,
    "ddp": None,
    "unfrozen": {"freeze": {"policy": "None"}, "pipeline": {}},
    "unfrozen-auto": {"freeze": {"policy": "None"}, "pipeline": AUTO},
    "frozen": {"freeze": RULE, "pipeline": {}, "release": {"objective": "Time"}},
    "share": {"freeze": RULE, "pipeline": {}},
    "auto": {"freeze": RULE, "pipeline": AUTO, "release": REPLICATE},
}


def manifest(arguments, network, engine, seed):
    spec = {
        "model": {"zoo": {"name": network}},
        "dataset": {"format": "Cifar10", "path": str(arguments.cifar10)},
        "training": {"epochs": arguments.epochs, "batchSize": arguments.batch, "seed": seed,
                     "memoryFormat": "Contiguous", "optimizer": OPTIMIZERS[network]},
        "worker": {"count": arguments.gpus},
        **ENGINES[engine],
    }
    spec["pipeline"] = {"microBatches": MICRO_BATCHES, **spec["pipeline"]}
    return {"apiVersion": "freezepipe.io/v1alpha1", "kind": "FreezePipeJob", "metadata": {"name": "bench"},
            "spec": spec}


def peer_config(arguments, network, engine, seed, folder):
    chosen = OPTIMIZERS[network]
    return {"peer": engine, "network": network, "cifar10": str(arguments.cifar10), "train": 50_000, "test": 10_000,
            "seed": seed, "batch": arguments.batch, "augment": False, "layout": "Contiguous",
            "micro_batches": MICRO_BATCHES, "epochs": arguments.epochs, "optimizer": chosen["type"],
            "lr": chosen["learningRate"], "weight_decay": chosen["weightDecay"], "result": str(folder / "result.json")}


def prepared(arguments, network, engine, seed, folder):
    """(settings as JSON, command) of a run."""
    settings = folder / "job.json"
    if ENGINES[engine] is None:
        torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={arguments.gpus}"]
        return peer_config(arguments, network, engine, seed, folder), [*torchrun, HERE / "peer.py", settings]
    command = [arguments.bin / "freezepipe", "run", settings, "--device", "cuda", "--output", folder / "output"]
    return manifest(arguments, network, engine, seed), command


def same_layers(arguments, network):
    """The peers' network and FreezePipe's must have as many parameters, layer by layer."""
    import networks
    spec = manifest(arguments, network, "unfrozen", 0)["spec"]
    described = subprocess.run([arguments.bin / "freezepipe-worker", "describe"], input=json.dumps(spec), text=True,
                               capture_output=True)
    if described.returncode != 0:
        raise SystemExit(f"freezepipe-worker describe failed: {described.stderr}")
    ours = [int(layer.get("parameters", 0)) for layer in json.loads(described.stdout)["layers"]]
    theirs = networks.parameters(network)
    if ours != theirs:
        raise SystemExit(f"{network} differs: FreezePipe's layers have {ours} parameters, the peers' {theirs}")
    print(f"{network}: {len(ours)} layers, {sum(ours):,} parameters on both sides", flush=True)


def measure(arguments, network, engine, seed):
    import record
    from freezepipe_engine import training_seconds
    folder = arguments.out / f"{network}-{seed}-{engine}"
    folder.mkdir(parents=True)  # one that is there holds a run
    settings, command = prepared(arguments, network, engine, seed, folder)
    (folder / "job.json").write_text(json.dumps(settings))
    used = record.run(command, folder / "log", os.sched_getaffinity(0))
    row = {"setting": network, "layout": "contiguous", "seed": seed, "engine": engine, **used}
    if ENGINES[engine] is None:
        result = json.loads((folder / "result.json").read_text())
        row |= {"train_seconds": result["train_seconds"], "accuracy": result["accuracies"][-1],
                "device_seconds": arguments.gpus * result["train_seconds"]}
    else:
        summary, events = common.result(folder)
        begin, end = training_seconds(events)
        freed = sum(max(0, end - max(begin, release["time"])) for release in summary["releases"])
        row |= {"train_seconds": end - begin, "accuracy": 100 * summary["accuracy"],
                "device_seconds": arguments.gpus * (end - begin) - freed}
    with open(arguments.out / "runs.jsonl", "a") as lines:
        lines.write(json.dumps(row) + "\n")
    print(f"{network:9s} seed {seed}  {engine:14s} {row['train_seconds']:7.1f} s  {row['accuracy']:6.2f} %", flush=True)
    return row


def table_of(rows, network):
    from report import shown, table
    from statistics_of_runs import Runs
    runs = Runs(rows, network, "contiguous")
    lines = [[name, *(shown(runs.spread(name, field), digits) for field, digits in
                      (("train_seconds", 1), ("device_seconds", 0), ("cpu_seconds", 0), ("accuracy", 2))),
              shown(runs.less(name, "1f1b")), shown(runs.less(name, "ddp"))] for name in runs.engines()]
    return f"## {network}\n\n" + table(["engine", "time, s", "device-seconds", "CPU, s", "accuracy, %",
                                        "less time than 1f1b, %", "less time than ddp, %"], lines)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", type=pathlib.Path, required=True, help="folder with data_batch_1.bin ...")
    parser.add_argument("--networks", nargs="+", choices=OPTIMIZERS, default=list(OPTIMIZERS))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument("--out", type=pathlib.Path, default=common.ROOT / "freezepipe-output" / "gpu")
    parser.add_argument("--bin", type=pathlib.Path, default=common.BIN)
    parser.add_argument("--dry-run", action="store_true")
    arguments = parser.parse_args()
    arguments.cifar10, arguments.out = arguments.cifar10.absolute(), arguments.out.absolute()
    return arguments


def main():
    arguments = parsed()
    peers.enter()
    for network in arguments.networks:
        same_layers(arguments, network)
    runs = [(network, engine, seed) for seed in arguments.seeds for network in arguments.networks
            for engine in arguments.engines]
    if arguments.dry_run:
        for run in runs:
            settings, command = prepared(arguments, *run, arguments.out / "{}-{}-{}".format(run[0], run[2], run[1]))
            print(json.dumps(settings), " ".join(map(str, command)), "", sep="\n")
        return
    found = subprocess.run([arguments.bin / "freezepipe-worker", "devices"], capture_output=True, text=True).stdout
    if found.count("cuda") < arguments.gpus:
        raise SystemExit(f"{arguments.gpus} CUDA devices are needed, found {found.count('cuda')}")
    rows = [measure(arguments, *run) for run in runs]
    for network in arguments.networks:
        print(table_of(rows, network))


if __name__ == "__main__":
    main()
