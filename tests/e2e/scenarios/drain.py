"""A node is drained under a job that writes no checkpoint on its way: its workers hand their layers on, nothing is lost."""

import collections

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

NAME = "drained"


def status(scenario):
    return jobs.status(scenario, NAME)


def tell(scenario):
    return jobs.tell(scenario, NAME)


def nodes_of_members(scenario):
    """Workers with a stage by their node."""
    return collections.Counter(node for stage in status(scenario).get("stages", []) for node in stage["nodes"])


def notes(scenario, reason):
    return [event["note"] for event in cluster.get_all("events.events.k8s.io", scenario.namespace)
            if event["reason"] == reason and event["regarding"]["name"] == NAME]


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, NAME, 3, {
        "training": {"epochs": 40, "batchSize": 128, "seed": 11},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": [{"chosenAt": 500, "frozenAt": 500, "boundary": 3}]},
        "release": {"timeShare": 1},
        "checkpoint": {"claimName": "checkpoints", "intervalSteps": 0}}))
    scenario.wait("the job trains", lambda: status(scenario).get("step", 0) > 20, 120, lambda: tell(scenario))
    spread = nodes_of_members(scenario)
    node, workers = spread.most_common()[-1]
    scenario.check("its workers are on two nodes", len(spread) == 2, dict(spread))
    step = status(scenario)["step"]
    try:
        cluster.kubectl("drain", node, f"--pod-selector=freezepipe.io/job={NAME}", "--force",
                        "--delete-emptydir-data", timeout=120)
        scenario.wait("those of the drained node hand over, and the others train on",
                      lambda: status(scenario).get("step", 0) > step + 5
                      and nodes_of_members(scenario)[node] == 0, 60, lambda: tell(scenario))
        scenario.wait("their successors get layers on the other node", lambda: status(scenario).get("stageCount") == 3,
                      120, lambda: tell(scenario))
    finally:
        cluster.kubectl("uncordon", node)
    restored = notes(scenario, "Restored")
    scenario.check("no step was lost",
                   bool(restored) and all("0 steps are computed again" in note for note in restored), restored)
    scenario.check("nor did the job start over", not notes(scenario, "StartedOver"))
    lost = {name: status(scenario).get(name, 0) for name in ("disruptions", "restarts")}
    scenario.check("each counts once, as a disruption", lost == {"disruptions": workers, "restarts": 0}, lost)
    scenario.wait("the job is Complete", lambda: jobs.condition(scenario, NAME, "Complete") == "True", 400,
                  lambda: tell(scenario))
    jobs.check_weights(scenario, NAME)
