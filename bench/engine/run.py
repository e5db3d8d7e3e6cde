#!/usr/bin/env python3
"""The engine against a plain LibTorch loop, freezing off, one thread a worker.

    bench/engine/run.py --cifar10 DIR [--repeats 5] [--epochs 1] [--bin DIR]

1. One worker against the plain loop, each alone on core 0, in turn.
2. Two workers with 8 micro-batches against two independent plain loops that run at the same time: the speed-up
   of the pipeline as a share of what fill and drain and the balance of the two stages allow,
   M K / (M + K - 1) x balance, with balance = sum of the stages' busy seconds / (K x the largest).
Step times are medians of a run. Each repeat's ratio compares two runs that followed each other; the median ratio of
the repeats counts, and all are printed.
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


def engine(spec, folder, bin_dir):
    """Seconds of a step, and each stage's busy seconds of a step, from the windows after the first."""
    _, events = common.run(spec, folder, bin_dir)
    windows = {}
    for event in events:
        if "stageTimes" in event:
            times = event["stageTimes"]
            windows.setdefault(times["stage"], []).append(times)
    last = max(windows)
    per_epoch = spec["dataset"]["limit"]["train"] / spec["training"]["batchSize"]
    steps = max(1, int(-(-per_epoch // 1)) // spec["freeze"].get("windowsPerEpoch", 4))
    seconds = statistics.median(w["seconds"] for w in windows[last][1:]) / steps
    busy = [
        statistics.median(w["forwardSeconds"] + w["backwardSeconds"] + w["optimizerSeconds"] for w in stage[1:]) / steps
        for _, stage in sorted(windows.items())
    ]
    return seconds, busy


def plain(spec, bin_dir, cores):
    """Seconds of a step of the plain loop, on each core at the same time."""
    loops = [
        subprocess.Popen(
            ["taskset", "-c", str(core), str(bin_dir / "plain_loop_bench")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for core in cores
    ]
    for loop in loops:
        loop.stdin.write(json.dumps(spec))
        loop.stdin.close()
    return [float(loop.stdout.read()) for loop in loops]


def show(name, values):
    print(f"{name:44s} {statistics.median(values) * 1e3:7.2f} ms   all " + " ".join(f"{v * 1e3:.2f}" for v in values))


def median_ratio(dividends, divisors):
    ratios = [a / b for a, b in zip(dividends, divisors)]
    print("  ratios " + " ".join(f"{ratio:.3f}" for ratio in ratios))
    return statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", required=True, help="folder with data_batch_1.bin ...")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=common.BIN)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for micro_batches in (1, 4):
            spec = common.cifar_spec(arguments.cifar10, train=9_984, test=128, epochs=arguments.epochs,
                                     micro_batches=micro_batches)
            ours, theirs = [], []
            for i in range(arguments.repeats):
                ours.append(engine(spec, scratch / f"one-{micro_batches}-{i}", arguments.bin)[0])
                theirs.extend(plain(spec, arguments.bin, [0]))
            print(f"1 worker, {micro_batches} micro-batches")
            show("  FreezePipe, a step", ours)
            show("  plain LibTorch loop, a step", theirs)
            print(f"  ratio {median_ratio(ours, theirs):.3f}")

        m, k = 8, 2
        spec = common.cifar_spec(arguments.cifar10, train=9_984, test=128, epochs=arguments.epochs, micro_batches=m)
        ours, theirs, balances = [], [], []
        for i in range(arguments.repeats):
            spec["worker"]["count"] = k
            seconds, busy = engine(spec, scratch / f"two-{i}", arguments.bin)
            ours.append(seconds)
            balances.append(sum(busy) / (k * max(busy)))
            spec["worker"]["count"] = 1
            theirs.append(statistics.mean(plain(spec, arguments.bin, [0, 1])))
        balance = statistics.median(balances)
        bound = m * k / (m + k - 1) * balance
        print(f"{k} workers, {m} micro-batches")
        show("  FreezePipe, a step", ours)
        show("  each of two plain loops at once, a step", theirs)
        speed_up = median_ratio(theirs, ours)
        print(f"  speed-up {speed_up:.3f}, bound {bound:.3f} (balance {balance:.3f}): {100 * speed_up / bound:.1f} %")


if __name__ == "__main__":
    main()
