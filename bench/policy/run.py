#!/usr/bin/env python3
"""Freeze policies on part of CIFAR-10: accuracy against no freezing, by paired seeds, and what freezing saves.

    bench/policy/run.py --cifar10 DIR [--settings scratch finetune augmented] [--seeds 0 1 2] [--policies none rule linear]
                        [--out FILE] [--bin DIR]

Settings (vgg11_bn at width 0.25, 10,000 training and 10,000 test images, batch 128, SGD 0.9, weight decay 5e-4, cosine):
  scratch    lr 0.05, 15 epochs, no augmentation
  finetune   lr 0.02, 10 epochs, from a network trained 15 epochs (lr 0.1, flip and crop) on 20,000 other images
             whose classes were paired by likeness to five; new head
  augmented  as scratch, with flip and crop
Policies: none; rule (the default, GradientChange); linear (Schedule from 0.3 to 0.9), the control.
Two jobs run side by side, each with one worker and one thread: weights don't depend on the number of stages, so
accuracies hold for any. "saved" is the share of step time that frozen layers save when they run forward only, from
the freeze log and the time of a step with 0, 1, ... 7 frozen layers, measured first and alone. --timed runs the first
seed of every policy with two workers, alone, for seconds and device-seconds.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common
import pretraining

POLICIES = {
    "none": {"policy": "None"},
    "rule": {"policy": "GradientChange"},
    "linear": {"policy": "Schedule"},
}


def setting_spec(arguments, setting, policy, seed, weights):
    spec = common.cifar_spec(arguments.cifar10, seed=seed)
    if setting == "finetune":
        spec["training"]["epochs"] = 10
        spec["training"]["optimizer"]["learningRate"] = 0.02
        spec["model"]["initialWeights"] = {"path": str(weights), "ignoreMismatched": True}
    if setting == "augmented":
        spec["dataset"]["augmentation"] = {"randomCropPadding": 4, "randomHorizontalFlip": True}
    spec["freeze"] = dict(POLICIES[policy])
    return spec


def step_costs(arguments, scratch, repeats=3, steps=12):
    """Seconds of a step with 0, 1, ... 7 frozen layers: one worker freezes a layer every `steps` steps; minimum of the
    repeats."""
    boundaries = range(8)
    spec = common.cifar_spec(arguments.cifar10, train=128 * steps * len(boundaries), test=128, epochs=1)
    spec["freeze"] = {
        "policy": "Manual",
        "windowsPerEpoch": len(boundaries),
        "manual": [{"chosenAt": k * steps, "frozenAt": k * steps, "boundary": k} for k in boundaries if k > 0],
    }
    costs = []
    for i in range(repeats):
        _, events = common.run(spec, scratch / f"costs-{i}", arguments.bin)
        windows = [event["stageTimes"] for event in events if "stageTimes" in event]
        costs.append([window["seconds"] / steps for window in windows[:len(boundaries)]])
    return [min(column) for column in zip(*costs)]


def saved(costs, log, steps):
    """Share of the run's step time that its freeze log saves, frozen layers running forward only."""
    total, boundary, since = 0.0, 0, 0
    for entry in log:
        total += costs[boundary] * (entry["frozenAt"] - since)
        boundary, since = entry["boundary"], entry["frozenAt"]
    total += costs[boundary] * (steps - since)
    return 1 - total / (costs[0] * steps)


def run_all(arguments, scratch, jobs):
    """Runs (key, spec) two at a time; yields (key, summary)."""
    waiting, running = list(jobs), []
    while waiting or running:
        while waiting and len(running) < 2:
            key, spec = waiting.pop(0)
            folder = scratch / "-".join(map(str, key))
            core = ({0, 1} - {job[3] for job in running}).pop()
            running.append((key, folder, common.start(spec, folder, arguments.bin, ["taskset", "-c", str(core)]), core))
        for job in list(running):
            key, folder, process, _ = job
            if process.poll() is None:
                continue
            running.remove(job)
            if process.returncode != 0:
                raise SystemExit(f"{key} failed\n" + (folder / "log").read_text()[-2000:])
            yield key, common.result(folder)[0]
        if running:
            try:
                running[0][2].wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", type=pathlib.Path, required=True, help="folder with data_batch_1.bin ...")
    parser.add_argument("--settings", nargs="+", default=["scratch", "finetune", "augmented"])
    parser.add_argument("--policies", nargs="+", default=["none", "rule", "linear"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, help="JSON lines, one a run, appended")
    parser.add_argument("--bin", type=pathlib.Path, default=common.BIN)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        costs = step_costs(arguments, scratch)
        print("ms a step by frozen layers: " + " ".join(f"{1e3 * cost:.1f}" for cost in costs), flush=True)
        weights = pretraining.pretrain(arguments.cifar10, scratch, arguments.bin) if "finetune" in arguments.settings else None
        jobs = [
            ((setting, policy, seed), setting_spec(arguments, setting, policy, seed, weights))
            for setting in arguments.settings for seed in arguments.seeds for policy in arguments.policies
        ]
        accuracy, share = {}, {}
        for key, summary in run_all(arguments, scratch, jobs):
            accuracy[key] = 100 * summary["accuracy"]
            share[key] = 100 * saved(costs, summary["freezeLog"], summary["totalSteps"])
            row = dict(setting=key[0], policy=key[1], seed=key[2], accuracy=round(accuracy[key], 2),
                       saved=round(share[key], 1), frozen_at=[entry["frozenAt"] for entry in summary["freezeLog"]])
            print(row, flush=True)
            if arguments.out:
                with open(arguments.out, "a") as out:
                    out.write(json.dumps(row) + "\n")
        for setting in arguments.settings:
            for policy in arguments.policies:
                runs = [accuracy[setting, policy, seed] for seed in arguments.seeds]
                line = f"{setting:10s} {policy:7s} accuracy {statistics.mean(runs):.2f} ({min(runs):.2f}-{max(runs):.2f})"
                if policy != "none" and "none" in arguments.policies:
                    deltas = [accuracy[setting, policy, s] - accuracy[setting, "none", s] for s in arguments.seeds]
                    line += f"  against none {statistics.mean(deltas):+.2f} (" + " ".join(f"{d:+.2f}" for d in deltas)
                    line += f")  saved {statistics.mean(share[setting, policy, s] for s in arguments.seeds):.1f} %"
                print(line)
            if arguments.timed:
                for policy in arguments.policies:
                    spec = setting_spec(arguments, setting, policy, arguments.seeds[0], weights)
                    spec["worker"]["count"] = 2
                    summary, _ = common.run(spec, scratch / f"timed-{setting}-{policy}", arguments.bin)
                    print(f"{setting:10s} {policy:7s} 2 workers: {summary['wallSeconds']:.0f} s, "
                          f"{summary['deviceSeconds']:.0f} device-seconds, {len(summary['releases'])} released")


if __name__ == "__main__":
    main()
