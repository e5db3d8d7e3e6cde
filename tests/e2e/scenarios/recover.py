"""A worker's pod is deleted in the middle of training: another takes its place, and the weights are as if nothing was."""

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

NAME = "wounded"


def status(scenario):
    return jobs.status(scenario, NAME)


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, NAME, 2, {
        "training": {"epochs": 20, "batchSize": 128, "seed": 5},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": [{"chosenAt": 150, "frozenAt": 150, "boundary": 3}]},
        "release": {"timeShare": 1},
        "checkpoint": {"claimName": "checkpoints", "intervalSteps": 40}}))
    scenario.wait("the job trains, and has a checkpoint", lambda: status(scenario).get("checkpointStep", 0) > 0, 120,
                  lambda: jobs.tell(scenario, NAME))
    step = status(scenario)["step"]
    victim = jobs.worker_pods(scenario, NAME)[-1]["metadata"]["name"]
    cluster.kubectl("delete", "pod", victim, "-n", scenario.namespace, "--grace-period=1", "--wait=false")
    scenario.wait("another takes the place of a worker's pod that is deleted",
                  lambda: any(pod["metadata"]["labels"]["freezepipe.io/attempt"] == "1" and jobs.phase(pod) == "Running"
                              for pod in jobs.worker_pods(scenario, NAME)), 60, lambda: jobs.tell(scenario, NAME))
    scenario.wait("and the job trains on", lambda: status(scenario).get("step", 0) > step, 120,
                  lambda: jobs.tell(scenario, NAME))
    scenario.wait("to its end", lambda: jobs.condition(scenario, NAME, "Complete") == "True", 180,
                  lambda: jobs.tell(scenario, NAME))
    lost = {name: status(scenario).get(name, 0) for name in ("disruptions", "restarts")}
    scenario.check("the loss was counted once, as a disruption", lost == {"disruptions": 1, "restarts": 0}, lost)
    jobs.check_weights(scenario, NAME)
