"""Workers are lost at random moments, and a node loses its power: the job goes back to the newest copies and ends well."""

import random
import time

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

FREEZES = [{"chosenAt": 120, "frozenAt": 120, "boundary": 2}, {"chosenAt": 260, "frozenAt": 260, "boundary": 4},
           {"chosenAt": 400, "frozenAt": 400, "boundary": 6}]


def members(scenario, name):
    """Pods of the workers that hold a stage."""
    return [pod for stage in jobs.status(scenario, name).get("stages", []) for pod in stage["pods"] if pod]


def lost(scenario, name):
    now = jobs.status(scenario, name)
    return now.get("restarts", 0), now.get("disruptions", 0)


def trains_on(scenario, name, what, step):
    scenario.wait(what, lambda: jobs.status(scenario, name).get("step", 0) > step
                  and jobs.status(scenario, name)["state"] in ("Running", "Repartitioning", "Succeeded"), 120,
                  lambda: jobs.tell(scenario, name))


def same_as_undisturbed(scenario, name):
    scenario.wait("the job is Complete", lambda: jobs.condition(scenario, name, "Complete") == "True", 400,
                  lambda: jobs.tell(scenario, name))
    jobs.check_weights(scenario, name)


def start(scenario, name, workers, epochs):
    cluster.apply(jobs.job(scenario, name, workers, {
        "training": {"epochs": epochs, "batchSize": 128, "seed": 7},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": FREEZES},
        "release": {"timeShare": 1}, "runPolicy": {"backoffLimit": 20},
        "checkpoint": {"claimName": "checkpoints", "intervalSteps": 40}}))
    scenario.wait(f"{name} trains", lambda: jobs.status(scenario, name).get("step", 0) > 20, 120,
                  lambda: jobs.tell(scenario, name))


def pods_are_killed(scenario):
    """Around each freeze, so that repartitions are hit too."""
    start(scenario, "unlucky", 3, 60)
    draw = random.Random()
    for number, entry in enumerate(FREEZES):
        scenario.wait(f"step {entry['frozenAt'] - 5}",
                      lambda: jobs.status(scenario, "unlucky").get("step", 0) >= entry["frozenAt"] - 5, 120,
                      lambda: jobs.tell(scenario, "unlucky"))
        time.sleep(draw.uniform(0, 1.5))
        victim = draw.choice(members(scenario, "unlucky"))
        before, step = lost(scenario, "unlucky"), jobs.status(scenario, "unlucky").get("step", 0)
        by_crash = number % 2 == 0
        if by_crash:
            cluster.kill_container(scenario.namespace, victim)
        else:
            cluster.kubectl("delete", "pod", victim, "-n", scenario.namespace, "--grace-period=1", "--wait=false")
        scenario.note(f"{victim} {'was killed' if by_crash else 'was deleted'} after step {step}")
        expected = (before[0] + by_crash, before[1] + (not by_crash))
        scenario.wait("counted once, by its cause", lambda: lost(scenario, "unlucky") == expected, 60,
                      lambda: f"{before} became {lost(scenario, 'unlucky')}, not {expected}")
        trains_on(scenario, "unlucky", "the job trains on", step)
    same_as_undisturbed(scenario, "unlucky")


def a_node_loses_its_power(scenario):
    start(scenario, "blackout", 2, 60)
    nodes = [node for stage in jobs.status(scenario, "blackout")["stages"] for node in stage["nodes"]]
    # Not the one that the operator's leader is on, if there is a choice: that is another scenario.
    node = nodes[0]
    step = jobs.status(scenario, "blackout")["step"]
    cluster.node("stop", node)
    try:
        scenario.wait("the workers of a node without power are replaced",
                      lambda: lost(scenario, "blackout")[1] >= 1, 180, lambda: jobs.tell(scenario, "blackout"))
        trains_on(scenario, "blackout", "and the job trains on, on the other node", step)
        scenario.check("no loss counts as the job's fault", lost(scenario, "blackout")[0] == 0, lost(scenario, "blackout"))
    finally:
        cluster.node("start", node)
    same_as_undisturbed(scenario, "blackout")


def run(scenario):
    jobs.prepare_volumes(scenario)
    pods_are_killed(scenario)
    a_node_loses_its_power(scenario)
