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
    scenario.wait("a worker's pod that is deleted counts as a disruption",
                  lambda: status(scenario).get("disruptions", 0) == 1, 60, lambda: jobs.tell(scenario, NAME))
    scenario.wait("another takes its place, and the job trains on", lambda: status(scenario).get("step", 0) > step, 120,
                  lambda: jobs.tell(scenario, NAME))
    scenario.wait("to its end", lambda: jobs.condition(scenario, NAME, "Complete") == "True", 180,
                  lambda: jobs.tell(scenario, NAME))
    scenario.check("no fault of its own was counted", status(scenario)["restarts"] == 0, status(scenario)["restarts"])
    step = status(scenario)["totalSteps"]
    in_cluster = jobs.checkpoint(jobs.checkpoints_of(scenario, NAME), step)
    here = jobs.checkpoint(jobs.replay(scenario, NAME) / "checkpoints", step)
    scenario.check("with the weights of an undisturbed run by its freeze log", in_cluster and in_cluster == here)
