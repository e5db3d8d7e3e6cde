"""On a full cluster a job freezes and shrinks, and its GPUs go to a waiting job while it still trains."""

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

FREEZES = [{"chosenAt": 60, "frozenAt": 60, "boundary": 2, "why": "a third"},
           {"chosenAt": 140, "frozenAt": 140, "boundary": 7, "why": "most"}]
# A worker's device counts as free once its pod has ended.
FREE_SECONDS = 30


def occupy(scenario, devices):
    """A pod that holds so many GPUs of one node."""
    cluster.apply({"apiVersion": "v1", "kind": "Pod",
                   "metadata": {"name": "occupant", "namespace": scenario.namespace},
                   "spec": {"terminationGracePeriodSeconds": 0,
                            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532,
                                                "seccompProfile": {"type": "RuntimeDefault"}},
                            "containers": [{"name": "pause", "image": cluster.PAUSE_IMAGE,
                                            "resources": {"limits": {cluster.GPU_RESOURCE: devices}},
                                            "securityContext": {"allowPrivilegeEscalation": False,
                                                                "capabilities": {"drop": ["ALL"]}}}]}})
    scenario.wait(f"another tenant holds {devices} of the 8 GPUs",
                  lambda: jobs.phase(cluster.get("pod", "occupant", scenario.namespace)) == "Running", 60)


def start_first(scenario):
    cluster.apply(jobs.job(scenario, "first", 4, {
        "training": {"epochs": 60, "batchSize": 128, "seed": 3},
        "pipeline": {"microBatches": 2},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": FREEZES},
        "release": {"timeShare": 0},
        "checkpoint": {"claimName": "checkpoints"}}))
    scenario.wait("the first job trains on the other 4",
                  lambda: jobs.condition(scenario, "first", "Running") == "True", 120,
                  lambda: jobs.tell(scenario, "first"))
    scenario.check("with 4 workers", len(jobs.status(scenario, "first").get("workers", [])) == 4,
                   jobs.tell(scenario, "first"))


def start_second(scenario):
    """Needs more than is free: its pods wait."""
    cluster.apply(jobs.job(scenario, "second", 2, {
        "training": {"epochs": 8, "batchSize": 128, "seed": 4},
        "freeze": {"policy": "None"}}))
    scenario.wait("the second job's pods are there", lambda: len(jobs.worker_pods(scenario, "second")) == 2, 60,
                  lambda: jobs.tell(scenario, "second"))
    phases = {jobs.phase(pod) for pod in jobs.worker_pods(scenario, "second")}
    scenario.check("and wait for GPUs", phases == {"Pending"}, phases)


def watch_release(scenario):
    """Until the first job has one stage left; when how many of its pods had ended."""
    ended = {}

    def one_left():
        for pod in jobs.worker_pods(scenario, "first"):
            if jobs.phase(pod) in ("Succeeded", "Failed") and pod["metadata"]["name"] not in ended:
                ended[pod["metadata"]["name"]] = jobs.phase(pod)
                scenario.note(f"{pod['metadata']['name']} {jobs.phase(pod)} at step "
                              f"{jobs.status(scenario, 'first').get('step')}")
        return len(ended) >= 3

    scenario.wait("three of its pods end", one_left, 240, lambda: jobs.tell(scenario, "first"))
    scenario.check("with Succeeded", set(ended.values()) == {"Succeeded"}, ended)
    first = jobs.status(scenario, "first")
    scenario.check("while it still trains", first["state"] in ("Running", "Repartitioning"), first["state"])
    scenario.wait("the second job has the GPUs",
                  lambda: {jobs.phase(pod) for pod in jobs.worker_pods(scenario, "second")} <= {"Running", "Succeeded"},
                  FREE_SECONDS, lambda: jobs.tell(scenario, "second"))
    first = jobs.status(scenario, "first")
    scenario.check("and the first still trains, on one", (first["state"], len(first["workers"])) == ("Running", 1),
                   jobs.tell(scenario, "first"))


def complete(scenario, name, seconds):
    scenario.wait(f"the {name} job is Complete", lambda: jobs.condition(scenario, name, "Complete") == "True",
                  seconds, lambda: jobs.tell(scenario, name))
    running = [pod["metadata"]["name"] for pod in jobs.worker_pods(scenario, name) if jobs.phase(pod) == "Running"]
    scenario.check("with no pod of it running", not running, running)


def compare_weights(scenario):
    first = jobs.status(scenario, "first")
    scenario.check("the freeze log is the given one",
                   [(entry["frozenAt"], entry["boundary"]) for entry in first["freezeLog"]]
                   == [(entry["frozenAt"], entry["boundary"]) for entry in FREEZES], first["freezeLog"])
    columns = {name: first.get(name) for name in ("stageCount", "freedWorkers", "boundary", "step")}
    scenario.check("the status says what was freed", columns == {
        "stageCount": 1, "freedWorkers": 3, "boundary": FREEZES[-1]["boundary"], "step": first["totalSteps"]}, columns)
    jobs.check_weights(scenario, "first")


def run(scenario):
    jobs.prepare_volumes(scenario)
    occupy(scenario, 4)
    start_first(scenario)
    start_second(scenario)
    watch_release(scenario)
    complete(scenario, "second", 180)
    complete(scenario, "first", 240)
    compare_weights(scenario)
