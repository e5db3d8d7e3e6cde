"""Which of the operator's replicas leads, and its process on this machine."""

import json
import os
import signal
import subprocess

from harness import cluster

LEASE = "freezepipe"


def lease():
    return cluster.get("leases", LEASE, cluster.SYSTEM)["spec"]


def identity():
    """The process that leads; empty if none does."""
    return lease().get("holderIdentity", "")


def holder():
    """Name of the pod that leads; empty if none does."""
    return identity().split("_")[0]


def pods():
    return cluster.get_all("pods", cluster.SYSTEM, "app.kubernetes.io/name=freezepipe,app.kubernetes.io/component=operator")


def all_ready():
    found = pods()
    return len(found) == 2 and all(
        status["ready"] for pod in found for status in pod["status"].get("containerStatuses", [{"ready": False}]))


def process_of(pod):
    """The operator's process in a pod: nodes are process namespaces of this machine."""
    uid = cluster.get("pod", pod, cluster.SYSTEM)["metadata"]["uid"]
    for pid in subprocess.run(["pgrep", "-f", "bin/freezepipe-operator"], capture_output=True, text=True).stdout.split():
        try:
            with open(f"/proc/{pid}/cgroup", encoding="utf-8") as file:
                groups = file.read()
        except OSError:
            continue
        if uid in groups or uid.replace("-", "_") in groups:
            return int(pid)
    raise cluster.CommandFailed(f"no process of pod {pod} found")


def standby():
    """Name of the pod that would lead next."""
    leads = holder()
    return next(pod["metadata"]["name"] for pod in pods() if pod["metadata"]["name"] != leads)


def kill(pod):
    os.kill(process_of(pod), signal.SIGKILL)


def transitions():
    return lease().get("leaseTransitions", 0)


def tell():
    return json.dumps({"lease": lease(), "pods": {pod["metadata"]["name"]: pod["status"].get("phase") for pod in pods()}})
