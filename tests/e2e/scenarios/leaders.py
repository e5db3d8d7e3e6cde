"""Two replicas: the leader is killed, another is paused past its lease: the deposed one changes nothing any more."""

import os
import signal
import time

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]

# Lease duration, retry period with its jitter, and some for a loaded machine.
TAKE_OVER_SECONDS = 15 + 2 * 2.4 + 5


def take_over(scenario, what, number):
    """Sends the leader a signal that it leads no longer after; answers with its process."""
    old = leader.identity()
    pid = leader.process_of(leader.holder())
    begun = time.monotonic()
    os.kill(pid, number)
    # A killed one's successor in the same pod may be it.
    scenario.wait(f"another process leads: {what}", lambda: leader.identity() not in ("", old), 60, leader.tell)
    took = time.monotonic() - begun
    scenario.check(f"within lease time ({took:.1f} s)", took <= TAKE_OVER_SECONDS)
    return pid


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
    scenario.check("both replicas are Ready", leader.all_ready(), leader.tell())

    take_over(scenario, "the leader was killed", signal.SIGKILL)
    goes_on(scenario, "under it")

    scenario.wait("both run again", leader.all_ready, 60, leader.tell)
    paused = take_over(scenario, "the leader was paused", signal.SIGSTOP)
    goes_on(scenario, "under it")
    term = jobs.status(scenario, "lasting")["term"]
    os.kill(paused, signal.SIGCONT)
    scenario.wait("the deposed one ends", lambda: not cluster.process_runs(paused), 30)
    goes_on(scenario, "after that")
    now = jobs.status(scenario, "lasting")
    scenario.check("its status is of the leader's term", now["term"] == term, now["term"])
    scenario.check("no worker was lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
