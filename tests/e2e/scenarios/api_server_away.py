"""The API server hangs for two minutes, etcd forgets its history, pods change all the time: nothing is lost."""

import concurrent.futures
import http.client
import json
import os
import signal
import subprocess
import time

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]

AWAY_SECONDS = 120
FLOOD_SECONDS = 20
FREEZES = [{"chosenAt": 200, "frozenAt": 200, "boundary": 3}]
# As everywhere but on the tests' cluster, where nodes that can't be heard of lose their pods after 10 s.
TOLERATIONS = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
               for what in ("not-ready", "unreachable")]


def resident_megabytes():
    with open(f"/proc/{leader.process_of(leader.holder())}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1000


def forget_history(pid):
    """Neither etcd nor the API server knows any more where the watches of this process were. It sleeps meanwhile: an
    API server that has just started forbids everything until it knows its roles, and who is refused lists anew."""
    os.kill(pid, signal.SIGSTOP)
    try:
        cluster.compact_etcd()
        cluster.restart_api_server()
    finally:
        os.kill(pid, signal.SIGCONT)


def change(port, path, end):
    """Sets an annotation of one object again and again; returns how often."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    count = 0
    while time.monotonic() < end:
        connection.request("PATCH", path, json.dumps({"metadata": {"annotations": {"e2e": str(count)}}}),
                           {"Content-Type": "application/merge-patch+json"})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise cluster.CommandFailed(f"PATCH {path}: {answer.status}")
        count += 1
    return count


def flood(scenario, pods):
    """Changes these pods as fast as the API server takes it; returns how often."""
    with subprocess.Popen([cluster.binary("kubectl"), "--kubeconfig", cluster.STATE / "kubeconfig", "proxy",
                           "--port=0"], stdout=subprocess.PIPE, text=True) as proxy:
        try:
            port = int(proxy.stdout.readline().rsplit(":", 1)[1])
            paths = [f"/api/v1/namespaces/{scenario.namespace}/pods/{pod['metadata']['name']}" for pod in pods]
            end = time.monotonic() + FLOOD_SECONDS
            with concurrent.futures.ThreadPoolExecutor(len(pods)) as clients:
                return sum(clients.map(lambda path: change(port, path, end), paths))
        finally:
            proxy.terminate()


def run(scenario):
    jobs.prepare_volumes(scenario)
    patient = jobs.job(scenario, "patient", 2, {
        # More than any machine trains meanwhile.
        "training": {"epochs": 2000, "batchSize": 128, "seed": 2},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": FREEZES},
        "release": {"objective": "Efficiency", "minEfficiency": 1}, "checkpoint": {"claimName": "checkpoints"}})
    patient["spec"]["worker"]["template"]["spec"]["tolerations"] = TOLERATIONS
    cluster.apply(patient)
    scenario.wait("the job trains", lambda: jobs.status(scenario, "patient").get("step", 0) > 10, 120,
                  lambda: jobs.tell(scenario, "patient"))
    cluster.pause("cp-apiserver")
    scenario.note(f"the API server hangs for {AWAY_SECONDS} s")
    time.sleep(AWAY_SECONDS)
    cluster.resume("cp-apiserver")
    step = FREEZES[0]["frozenAt"]
    scenario.wait("afterwards the job has trained on",
                  lambda: jobs.status(scenario, "patient").get("step", 0) > step, 90,
                  lambda: jobs.tell(scenario, "patient"))
    scenario.wait("and gives a device back", lambda: jobs.status(scenario, "patient").get("freedWorkers") == 1, 90,
                  lambda: jobs.tell(scenario, "patient"))
    scenario.wait("both replicas are Ready again", leader.all_ready, 60, leader.tell)

    standby = leader.standby()
    forget_history(leader.process_of(standby))
    scenario.wait("the standby's watches are told that etcd and the API server know no history",
                  lambda: "too old resource version" in cluster.kubectl("logs", "-n", cluster.SYSTEM, standby), 60)
    before = resident_megabytes()
    changes = flood(scenario, jobs.worker_pods(scenario, "patient"))
    grown = resident_megabytes() - before
    scenario.check(f"{changes} changes of its pods leave the operator's memory as it was ({grown:+.1f} MB)", grown < 20)

    cluster.apply(jobs.job(scenario, "later", 1, {"training": {"epochs": 1, "batchSize": 128},
                                                  "freeze": {"policy": "None"}}))
    scenario.wait("a later job runs to its end", lambda: jobs.condition(scenario, "later", "Complete") == "True", 120,
                  lambda: jobs.tell(scenario, "later"))
    now = jobs.status(scenario, "patient")
    scenario.check("no worker was lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
    cluster.kubectl("patch", "fpj", "patient", "-n", scenario.namespace, "--type=merge", "-p",
                    '{"spec":{"runPolicy":{"suspend":true}}}')
    scenario.wait("the first is suspended", lambda: jobs.condition(scenario, "patient", "Suspended") == "True", 120,
                  lambda: jobs.tell(scenario, "patient"))
    left = [pod["metadata"]["name"] for pod in jobs.worker_pods(scenario, "patient") if jobs.phase(pod) == "Running"]
    scenario.check("and holds no device", not left, left)
