"""The API server hangs for two minutes, etcd forgets its history, pods change all the time: nothing is lost."""

import os
import signal
import threading
import time

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]

AWAY_SECONDS = 120
FLOOD_SECONDS = 20
FREEZES = [{"chosenAt": 200, "frozenAt": 200, "boundary": 3}]


def resident_megabytes():
    with open(f"/proc/{leader.process_of(leader.holder())}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1000


def flood(scenario, pods):
    """Changes these pods as fast as the API server takes it."""
    end = time.monotonic() + FLOOD_SECONDS
    counts = [0] * len(pods)

    def change(index):
        while time.monotonic() < end:
            cluster.kubectl("annotate", "pod", pods[index], "-n", scenario.namespace, "--overwrite",
                            f"e2e={counts[index]}")
            counts[index] += 1

    threads = [threading.Thread(target=change, args=(index,)) for index in range(len(pods))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, "patient", 2, {
        "training": {"epochs": 260, "batchSize": 128, "seed": 2},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": FREEZES},
        "release": {"timeShare": 0}, "checkpoint": {"claimName": "checkpoints"}}))
    scenario.wait("the job trains", lambda: jobs.status(scenario, "patient").get("step", 0) > 10, 120,
                  lambda: jobs.tell(scenario, "patient"))
    server = cluster.process("cp-apiserver")
    os.kill(server, signal.SIGSTOP)
    scenario.note(f"the API server hangs for {AWAY_SECONDS} s")
    time.sleep(AWAY_SECONDS)
    os.kill(server, signal.SIGCONT)
    step = FREEZES[0]["frozenAt"]
    scenario.wait("afterwards the job has trained on",
                  lambda: jobs.status(scenario, "patient").get("step", 0) > step, 90,
                  lambda: jobs.tell(scenario, "patient"))
    scenario.wait("and gives a device back", lambda: jobs.status(scenario, "patient").get("freedWorkers") == 1, 90,
                  lambda: jobs.tell(scenario, "patient"))

    cluster.compact_etcd()
    before = resident_megabytes()
    changes = flood(scenario, [pod["metadata"]["name"] for pod in jobs.worker_pods(scenario, "patient")])
    grown = resident_megabytes() - before
    scenario.check(f"{changes} changes of its pods leave the operator's memory as it was ({grown:+.1f} MB)", grown < 20)

    cluster.apply(jobs.job(scenario, "later", 1, {"training": {"epochs": 1, "batchSize": 128},
                                                  "freeze": {"policy": "None"}}))
    scenario.wait("a later job runs to its end", lambda: jobs.condition(scenario, "later", "Complete") == "True", 120,
                  lambda: jobs.tell(scenario, "later"))
    scenario.wait("the first is Complete", lambda: jobs.condition(scenario, "patient", "Complete") == "True", 300,
                  lambda: jobs.tell(scenario, "patient"))
    now = jobs.status(scenario, "patient")
    scenario.check("no worker was lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
