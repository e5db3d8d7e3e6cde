"""How soon another pod is scheduled on a GPU that a freed worker's exit gives back: within 3 s at p95."""

import datetime

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

ROUNDS = 4
WORKERS = 8
LIMIT_SECONDS = 3


def waiting_pod(scenario, name):
    """Asks for one GPU and does nothing with it."""
    cluster.apply({"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": name, "namespace": scenario.namespace, "labels": {"e2e": "waiting"}},
                   "spec": {"terminationGracePeriodSeconds": 0,
                            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532,
                                                "seccompProfile": {"type": "RuntimeDefault"}},
                            "containers": [{"name": "pause", "image": cluster.PAUSE_IMAGE,
                                            "resources": {"limits": {cluster.GPU_RESOURCE: 1}},
                                            "securityContext": {"allowPrivilegeEscalation": False,
                                                                "capabilities": {"drop": ["ALL"]}}}]}})


def at(text):
    return datetime.datetime.fromisoformat(text)


def exits(scenario, name):
    """When each worker that has ended did, in order."""
    return sorted(at(status["state"]["terminated"]["finishedAt"]) for pod in jobs.worker_pods(scenario, name)
                  for status in pod["status"].get("containerStatuses", []) if "terminated" in status["state"])


def schedulings(scenario):
    """When each waiting pod got its GPU, in order."""
    return sorted(at(condition["lastTransitionTime"])
                  for pod in cluster.get_all("pods", scenario.namespace, "e2e=waiting")
                  for condition in pod["status"].get("conditions", [])
                  if condition["type"] == "PodScheduled" and condition["status"] == "True")


def one_round(scenario, number):
    """A job on all 8 GPUs gives 7 of them back to 7 pods that wait; the seconds that each took."""
    name = f"shrinking-{number}"
    cluster.apply(jobs.job(scenario, name, WORKERS, {
        "training": {"epochs": 30, "batchSize": 128},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": [{"chosenAt": 20, "frozenAt": 20, "boundary": 7}]},
        "release": {"timeShare": 0}}))
    scenario.wait(f"{name} has all GPUs", lambda: jobs.status(scenario, name).get("readyWorkers") == WORKERS, 120,
                  lambda: jobs.tell(scenario, name))
    for index in range(WORKERS - 1):
        waiting_pod(scenario, f"waiting-{number}-{index}")
    scenario.wait("7 pods that waited have a GPU", lambda: len(schedulings(scenario)) == WORKERS - 1, 180,
                  lambda: jobs.tell(scenario, name))
    took = [(scheduled - ended).total_seconds()
            for ended, scheduled in zip(exits(scenario, name), schedulings(scenario))]
    cluster.kubectl("delete", "fpj", name, "-n", scenario.namespace)
    cluster.kubectl("delete", "pods", "-n", scenario.namespace, "-l", "e2e=waiting", "--grace-period=0")
    scenario.wait("all is given back", lambda: not cluster.get_all("pods", scenario.namespace), 90)
    return took


def run(scenario):
    jobs.prepare_volumes(scenario)
    took = sorted(seconds for number in range(ROUNDS) for seconds in one_round(scenario, number))
    p95 = took[int(0.95 * len(took))]
    # Both times are whole seconds.
    scenario.check(f"p95 of {len(took)} is within {LIMIT_SECONDS} s ({p95:.0f} s)", p95 <= LIMIT_SECONDS, took)
