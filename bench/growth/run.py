#!/usr/bin/env python3
"""What FreezePipe costs beside the work itself, as stages and layers grow in number, and in memory.

    bench/growth/run.py --cifar10 DIR [--quick] [--bin DIR]

Stages: vgg11_bn at width 0.25 in 1 to 8 stages. On one core for all workers the work stays the same, so whatever a step
gains in length is the stages' overhead: given for each stage beyond the first, in percent of the one-worker step. On
all cores of the machine the step itself.
Layers: mlp with 10 to 1,000 hidden layers of 32 units, one worker against a plain LibTorch loop on the same core, and
seconds until training begins, the layers' profile included.
Memory: the largest worker's peak in jobs of vgg11_bn, against a process that has loaded LibTorch and the data set
(`freezepipe-worker describe`) and one that trains the job in a plain loop.
Step times are medians over windows of a run, the first left out. --quick takes fewer points, under 2 minutes.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

BENCH = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(BENCH), str(BENCH / "compare")]
import common
import record

WINDOWS = 8
STEPS_A_WINDOW = 5
ONE_CORE = ["taskset", "-c", "0"]


def spec(arguments, workers=1, hidden=None):
    made = common.cifar_spec(arguments.cifar10.absolute(), train=128 * WINDOWS * STEPS_A_WINDOW, test=128, epochs=1,
                             workers=workers)
    made["freeze"]["windowsPerEpoch"] = WINDOWS
    if hidden:
        made["model"]["zoo"] = {"name": "mlp", "hiddenSizes": [32] * hidden}
        made["training"]["memoryFormat"] = "Contiguous"
    return made


def step_seconds(events):
    seconds = {}
    for event in events:
        if "stageTimes" in event:
            seconds[event["step"]] = max(seconds.get(event["step"], 0), event["stageTimes"]["seconds"])
    return statistics.median(list(seconds.values())[1:]) / STEPS_A_WINDOW


def begin_seconds(events):
    return next(e["time"] for e in events if e.get("stateChanged", {}).get("state") == "Running")


def output_of(command, job):
    return subprocess.run(list(map(str, command)), input=json.dumps(job), capture_output=True, text=True, check=True)


def stages(arguments, scratch):
    cores = len(os.sched_getaffinity(0))
    print(f"stages: a step on one core, overhead of each further stage, a step on {cores} cores")
    first = None
    for count in (1, 2, 4) if arguments.quick else range(1, 9):
        job = spec(arguments, workers=count)
        one = step_seconds(common.run(job, scratch / f"one-core-{count}", arguments.bin, ONE_CORE)[1])
        every = step_seconds(common.run(job, scratch / f"all-cores-{count}", arguments.bin)[1])
        first = first or one
        overhead = f"{100 * (one / first - 1) / (count - 1):+6.1f} %" if count > 1 else " " * 8
        print(f"  {count}   {1e3 * one:7.1f} ms   {overhead}   {1e3 * every:7.1f} ms", flush=True)


def layers(arguments, scratch):
    print("hidden layers: a step, a layer of it, the plain loop's step, their ratio, seconds until training begins")
    for count in (10, 100) if arguments.quick else (10, 30, 100, 300, 1000):
        job = spec(arguments, hidden=count)
        _, events = common.run(job, scratch / f"layers-{count}", arguments.bin, ONE_CORE)
        ours = step_seconds(events)
        plain = float(output_of([*ONE_CORE, arguments.bin / "plain_loop_bench"], job).stdout)
        print(f"  {count:5d}   {1e3 * ours:8.2f} ms   {1e6 * ours / count:6.1f} us   {1e3 * plain:8.2f} ms   "
              f"{ours / plain:5.2f}   {begin_seconds(events):6.1f} s", flush=True)


def peak_megabytes(command, job):
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    process.stdin.write(json.dumps(job))
    process.stdin.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return usage.ru_maxrss / 1e3


def worker_megabytes(job, folder, bin_dir):
    """The largest peak of a job's workers."""
    process = common.start(job, folder, bin_dir)
    peak = 0
    while process.poll() is None:
        for pid in record.tree(process.pid)[1:]:
            try:
                if b"\0train\0" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    continue  # it answers a question, such as what devices there are
                peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]))
            except (OSError, TypeError):
                pass  # it has ended
        time.sleep(0.05)
    if process.returncode != 0:
        raise SystemExit(f"run failed: {folder}/log\n" + (folder / "log").read_text()[-2000:])
    return peak / 1e3


def memory(arguments, scratch):
    job = spec(arguments)
    print("memory, peak")
    bare = peak_megabytes([arguments.bin / "freezepipe-worker", "describe"], job)
    print(f"  LibTorch and the data set   {bare:6.0f} MB")
    print(f"  plain loop                  {peak_megabytes([arguments.bin / 'plain_loop_bench'], job):6.0f} MB")
    for count in (1, 2) if arguments.quick else (1, 2, 4, 8):
        largest = worker_megabytes(spec(arguments, workers=count), scratch / f"memory-{count}", arguments.bin)
        print(f"  largest of {count} workers        {largest:6.0f} MB, {largest - bare:+.0f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cifar10", type=pathlib.Path, required=True, help="folder with data_batch_1.bin ...")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=common.BIN)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for measure in (stages, layers, memory):
            measure(arguments, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
