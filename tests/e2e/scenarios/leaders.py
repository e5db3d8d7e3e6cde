"""Two replicas: the leader is killed, another is paused past its lease: the deposed one changes nothing any more."""

import signal
import time

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]

# Lease duration, retry period with its jitter, and some for a loaded machine.
TAKE_OVER_SECONDS = 15 + 2 * 2.4 + 5


def take_over(scenario, what, old):
    begun = time.monotonic()
    scenario.wait(f"another replica leads: {what}", lambda: leader.holder() not in ("", old), 60, leader.tell)
    took = time.monotonic() - begun
    scenario.check(f"within lease time ({took:.1f} s)", took <= TAKE_OVER_SECONDS)


def goes_on(scenario, what):
    step = jobs.status(scenario, "lasting").get("step", 0)
    scenario.wait(f"the job goes on {what}", lambda: jobs.status(scenario, "lasting").get("step", 0) > step, 60,
                  lambda: jobs.tell(scenario, "lasting"))


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, "lasting", 2, {
        "training": {"epochs": 1000, "batchSize": 128}, "freeze": {"policy": "None"}}))
    scenario.wait("the job trains", lambda: jobs.status(scenario, "lasting").get("step", 0) > 10, 120,
                  lambda: jobs.tell(scenario, "lasting"))
    scenario.check("both replicas are Ready", all(
        status["ready"] for pod in leader.pods() for status in pod["status"]["containerStatuses"]), leader.tell())

    killed = leader.holder()
    leader.kill(killed)
    take_over(scenario, "the leader was killed", killed)
    goes_on(scenario, "under it")

    paused = leader.holder()
    scenario.wait("both run again", lambda: len([pod for pod in leader.pods() if all(
        status["ready"] for status in pod["status"].get("containerStatuses", [{"ready": False}]))]) == 2, 60, leader.tell)
    pid = leader.process_of(paused)
    leader.kill(paused, signal.SIGSTOP)
    take_over(scenario, "the leader was paused", paused)
    goes_on(scenario, "under it")
    term = jobs.status(scenario, "lasting")["term"]
    leader.kill(paused, signal.SIGCONT)
    scenario.wait("the deposed one ends", lambda: not cluster.process_runs(pid), 30)
    goes_on(scenario, "after that")
    now = jobs.status(scenario, "lasting")
    scenario.check("its status is of the leader's term", now["term"] == term, now["term"])
    scenario.check("no worker was lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
