#!/usr/bin/env python3
"""How the operator does with many jobs: 1,000 that are suspended, then 200 that start at once, on a real API server,
scheduler and etcd. No worker runs: the pods ask for a node that isn't there, so that only what the operator does is
measured. As root, on a machine that tests/e2e/run works on; the cluster's programs are built if they aren't there."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from harness import cluster  # noqa: E402

NAMESPACE = "bench"
HTTP_PORT = 18080
WORKERS = 4
CLIENTS = 4


def job(name, suspended):
    return {
        "apiVersion": "freezepipe.io/v1alpha1",
        "kind": "FreezePipeJob",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "model": {"zoo": {"name": "mlp"}},
            "dataset": {"format": "Mnist", "path": "/data"},
            "training": {"epochs": 1},
            "worker": {"count": WORKERS, "template": {"spec": {"nodeSelector": {"freezepipe.io/bench": "nowhere"}}}},
            "runPolicy": {"suspend": suspended},
        },
    }


def create_jobs(prefix, count, suspended):
    """By several clients at once: one waits for each answer before it asks for the next."""
    def create(client):
        items = [job(f"{prefix}-{i}", suspended) for i in range(client, count, CLIENTS)]
        cluster.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}),
                        timeout=600)

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
        list(clients.map(create, range(min(CLIENTS, count))))


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


class PodWatch:
    """Counts the worker pods that come to be, at little cost to the API server."""

    def __init__(self):
        self._names = set()
        self._kubectl = subprocess.Popen(
            [cluster.binary("kubectl"), "--kubeconfig", cluster.STATE / "kubeconfig", "get", "pods", "-n", NAMESPACE,
             "-l", "freezepipe.io/role=worker", "-o", "name", "--watch"], stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(target=lambda: self._names.update(self._kubectl.stdout))
        self._reader.start()

    def count(self):
        return len(self._names)

    def stop(self):
        self._kubectl.terminate()
        self._reader.join()
        self._kubectl.wait()


def wait(what, condition, limit=300):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {limit} s")
        time.sleep(0.2)


def suspended_jobs():
    states = cluster.kubectl("get", "fpj", "-n", NAMESPACE, "-o", "jsonpath={.items[*].status.state}")
    return states.split().count("Suspended")


def measure(options):
    binary = options.build / "bin/freezepipe-operator"
    log = open(options.build / "bench-operator.log", "w")
    operator = subprocess.Popen(
        [binary, "--kubeconfig", cluster.STATE / "kubeconfig", "--coordinator-address", "coordinator.bench.svc:17070",
         "--coordinator-port", "17070", "--http-port", str(HTTP_PORT), "--worker-image", "localhost/pause:1",
         "--pod-name", "bench", "--pod-namespace", NAMESPACE, "--certificates", options.build], stderr=log)
    try:
        create_jobs("idle", options.idle, suspended=True)
        wait("idle jobs suspended", lambda: suspended_jobs() == options.idle)
        result = {"idle_jobs": options.idle, "starting_jobs": options.starting,
                  "idle_megabytes": resident_bytes(operator.pid) / 1e6}
        all_before, own_before = (counts(f"freezepipe_operator_reconcile{part}_seconds") for part in ("", "_own"))
        cpu_before = cpu_seconds(operator.pid)
        pods = PodWatch()
        begun = time.monotonic()
        try:
            create_jobs("busy", options.starting, suspended=False)
            result["seconds_to_create_jobs"] = time.monotonic() - begun
            wait("worker pods", lambda: pods.count() == options.starting * WORKERS)
        finally:
            pods.stop()
        result["seconds_until_all_pods"] = time.monotonic() - begun
        result["cpu_seconds"] = cpu_seconds(operator.pid) - cpu_before
        result["megabytes"] = resident_bytes(operator.pid) / 1e6
        after = counts("freezepipe_operator_reconcile_seconds")
        result["p99_seconds_at_most"], result["reconciliations"] = p99_bound(all_before, after)
        result["p99_own_seconds_at_most"], _ = p99_bound(own_before,
                                                         counts("freezepipe_operator_reconcile_own_seconds"))
        result["requests"] = int(sum(float(value) for metric, _, value in metrics()
                                     if metric == "freezepipe_operator_api_requests_total"))
        result["requests_held_up"] = int(counts("freezepipe_operator_request_throttled_seconds")[float("inf")])
        return result
    finally:
        operator.terminate()
        operator.wait(timeout=60)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=int, default=1000, metavar="N")
    parser.add_argument("--starting", type=int, default=200, metavar="N")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="build folder with bin/freezepipe-operator (default: build/release)")
    options = parser.parse_args()
    if os.getuid() != 0:
        sys.exit("root is needed to start a cluster")
    cluster.start(1)
    try:
        cluster.kubectl("apply", "-f", ROOT / "deploy/crd/freezepipe.io_freezepipejobs.yaml")
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        print(json.dumps(measure(options), indent=2))
    finally:
        cluster.stop()


main()
