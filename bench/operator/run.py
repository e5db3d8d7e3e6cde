#!/usr/bin/env python3
"""How the operator does with many jobs: 1,000 that are suspended, then 200 that start at once, on a real API server,
scheduler and etcd. No worker runs: the pods ask for a node that isn't there, so that only what the operator does is
measured. As root, on a machine that tests/e2e/run works on; the cluster's programs are built if they aren't there."""

import argparse
import json
import os
import pathlib
import re
import time
import urllib.request

from many_jobs import HTTP_PORT, NAMESPACE, ROOT, WORKERS, PodWatch, cluster, create_jobs, operator, own_cluster, wait


def metrics():
    text = urllib.request.urlopen(f"http://127.0.0.1:{HTTP_PORT}/metrics", timeout=10).read().decode()
    return re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.M)


def counts(name):
    """Cumulative counts of a histogram by its buckets' upper bounds."""
    return {float(re.search(r'le="([^"]+)"', labels)[1]): float(value)
            for metric, labels, value in metrics() if metric == f"{name}_bucket"}


def p99_bound(before, after):
    """The bound of the bucket that the 99th percentile is in."""
    new = {bound: after[bound] - before.get(bound, 0) for bound in sorted(after)}
    total = new[float("inf")]
    return next(bound for bound, count in new.items() if count >= 0.99 * total), int(total)


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


def suspended_jobs():
    states = cluster.kubectl("get", "fpj", "-n", NAMESPACE, "-o", "jsonpath={.items[*].status.state}")
    return states.split().count("Suspended")


def measure(options, process):
    create_jobs("idle", options.idle, suspended=True)
    wait("idle jobs suspended", lambda: suspended_jobs() == options.idle)
    result = {"idle_jobs": options.idle, "starting_jobs": options.starting,
              "idle_megabytes": resident_bytes(process.pid) / 1e6}
    all_before, own_before = (counts(f"freezepipe_operator_reconcile{part}_seconds") for part in ("", "_own"))
    cpu_before = cpu_seconds(process.pid)
    pods = PodWatch()
    begun = time.monotonic()
    try:
        create_jobs("busy", options.starting, suspended=False)
        result["seconds_to_create_jobs"] = time.monotonic() - begun
        wait("worker pods", lambda: pods.count() == options.starting * WORKERS)
    finally:
        pods.stop()
    result["seconds_until_all_pods"] = time.monotonic() - begun
    result["cpu_seconds"] = cpu_seconds(process.pid) - cpu_before
    result["megabytes"] = resident_bytes(process.pid) / 1e6
    after = counts("freezepipe_operator_reconcile_seconds")
    result["p99_seconds_at_most"], result["reconciliations"] = p99_bound(all_before, after)
    result["p99_own_seconds_at_most"], _ = p99_bound(own_before, counts("freezepipe_operator_reconcile_own_seconds"))
    result["requests"] = int(sum(float(value) for metric, _, value in metrics()
                                 if metric == "freezepipe_operator_api_requests_total"))
    result["requests_held_up"] = int(counts("freezepipe_operator_request_throttled_seconds")[float("inf")])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=int, default=1000, metavar="N")
    parser.add_argument("--starting", type=int, default=200, metavar="N")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="build folder with bin/freezepipe-operator (default: build/release)")
    options = parser.parse_args()
    with own_cluster(), operator(options.build) as process:
        print(json.dumps(measure(options, process), indent=2))


main()
