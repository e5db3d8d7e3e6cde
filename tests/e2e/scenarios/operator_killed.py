"""The operator is killed again and again while a job trains: workers go on, and the job ends as if nothing had been."""

import random
import time

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]

KILLS = 5
FREEZES = [{"chosenAt": 150, "frozenAt": 150, "boundary": 3}, {"chosenAt": 500, "frozenAt": 500, "boundary": 6}]


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, "steady", 3, {
        "training": {"epochs": 400, "batchSize": 128, "seed": 9},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": FREEZES},
        "release": {"timeShare": 0.5}, "checkpoint": {"claimName": "checkpoints"}}))
    scenario.wait("the job trains", lambda: jobs.status(scenario, "steady").get("step", 0) > 20, 120,
                  lambda: jobs.tell(scenario, "steady"))
    draw = random.Random()
    for kill in range(KILLS):
        before, step = leader.transitions(), jobs.status(scenario, "steady").get("step", 0)
        leader.kill(leader.holder())
        scenario.wait(f"kill {kill + 1}: another leader, and the job's status goes on",
                      lambda: leader.transitions() > before and jobs.status(scenario, "steady").get("step", 0) > step,
                      90, lambda: f"{leader.tell()} {jobs.tell(scenario, 'steady')}")
        time.sleep(draw.uniform(0, 3))
    scenario.wait("the job is Complete", lambda: jobs.condition(scenario, "steady", "Complete") == "True", 300,
                  lambda: jobs.tell(scenario, "steady"))
    now = jobs.status(scenario, "steady")
    scenario.check("no worker was restarted",
                   (now["restarts"], now.get("disruptions", 0)) == (0, 0)
                   and all(pod["metadata"]["labels"]["freezepipe.io/attempt"] == "0"
                           for pod in jobs.worker_pods(scenario, "steady")), now)
    pauses = {pod["metadata"]["name"]: jobs.longest_pause(scenario, pod) for pod in jobs.worker_pods(scenario, "steady")}
    scenario.check("training never paused for more than a second", max(pauses.values()) <= 1, pauses)
    jobs.check_weights(scenario, "steady")
