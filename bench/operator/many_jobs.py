"""Many jobs without workers, and an operator of this machine's own, on a real API server, scheduler and etcd."""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
from harness import cluster  # noqa: E402

NAMESPACE = "bench"
HTTP_PORT = 18080
WORKERS = 4
CLIENTS = 4

COORDINATOR_NAME = "coordinator.bench.svc"
COORDINATOR_PORT = 17070


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


@contextlib.contextmanager
def own_cluster():
    """A cluster with the custom resource and the namespace of these jobs. Needs root."""
    if os.getuid() != 0:
        sys.exit("root is needed to start a cluster")
    cluster.start(1)
    try:
        cluster.kubectl("apply", "-f", ROOT / "deploy/crd/freezepipe.io_freezepipejobs.yaml")
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
        yield
    finally:
        cluster.stop()


@contextlib.contextmanager
def operator(build):
    """The process of an operator with its default limits, until the end of the block."""
    with open(build / "bench-operator.log", "a") as log:
        process = subprocess.Popen(
            [build / "bin/freezepipe-operator", "--kubeconfig", cluster.STATE / "kubeconfig",
             "--coordinator-address", f"{COORDINATOR_NAME}:{COORDINATOR_PORT}",
             "--coordinator-port", str(COORDINATOR_PORT), "--http-port", str(HTTP_PORT),
             "--worker-image", "localhost/pause:1", "--pod-name", "bench", "--pod-namespace", NAMESPACE,
             "--certificates", build], stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)
