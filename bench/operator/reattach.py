#!/usr/bin/env python3
"""How soon 1,000 workers are attached again when the operator was restarted: TLS, a token and its review for each, on a
real API server. The workers are streams of one process, of jobs whose pods ask for a node that isn't there. As root, on
a machine that tests/e2e/run works on; the cluster's programs are built if they aren't there."""

import argparse
import base64
import contextlib
import json
import pathlib
import subprocess
import threading
import time
import urllib.request

from many_jobs import (COORDINATOR_NAME, COORDINATOR_PORT, NAMESPACE, ROOT, WORKERS, PodWatch, cluster, create_jobs,
                       operator, own_cluster, wait)

AUDIENCE = "freezepipe-coordinator"


@contextlib.contextmanager
def api_proxy():
    """The API server in the clear, without a process for each request."""
    proxy = subprocess.Popen([cluster.binary("kubectl"), "--kubeconfig", cluster.STATE / "kubeconfig", "proxy",
                              "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        yield "http://" + proxy.stdout.readline().split()[-1]
    finally:
        proxy.terminate()
        proxy.wait()


def token(api, pod):
    """As its kubelet would give it to the pod."""
    reference = {"kind": "Pod", "apiVersion": "v1", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
               "spec": {"audiences": [AUDIENCE], "boundObjectRef": reference}}
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default/token"
    answer = urllib.request.urlopen(urllib.request.Request(
        api + path, json.dumps(request).encode(), {"Content-Type": "application/json"}), timeout=60)
    return json.load(answer)["status"]["token"]


class Workers:
    """Streams of workers, and when each was welcomed, seconds since the epoch."""

    def __init__(self, build, authority, lines):
        self._welcomes = []
        self._process = subprocess.Popen(
            [build / "bin/attach_many", f"127.0.0.1:{COORDINATOR_PORT}", COORDINATOR_NAME, authority],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._reader = threading.Thread(
            target=lambda: self._welcomes.extend(float(line) for line in self._process.stdout))
        self._reader.start()
        self._process.stdin.write("\n".join(lines) + "\n")
        self._process.stdin.flush()

    def welcomes_since(self, begun):
        return [at - begun for at in self._welcomes if at >= begun]

    def stop(self):
        self._process.stdin.close()
        self._reader.join()
        self._process.wait()


def seconds_until_attached(what, workers, count, begun):
    wait(what, lambda: len(workers.welcomes_since(begun)) >= count)
    return max(workers.welcomes_since(begun))


def measure(options):
    jobs = options.workers // WORKERS
    count = jobs * WORKERS
    with operator(options.build):
        pods = PodWatch()
        create_jobs("job", jobs, suspended=False)
        wait("worker pods", lambda: pods.count() == count)
        pods.stop()
        authority = options.build / "bench-authority.pem"
        secret = cluster.get("secret", "freezepipe-ca", NAMESPACE)
        authority.write_bytes(base64.b64decode(secret["data"]["tls.crt"]))
        lines = []
        with api_proxy() as api:
            for pod in cluster.get_all("pods", NAMESPACE, "freezepipe.io/role=worker"):
                arguments = pod["spec"]["containers"][0]["args"]
                job, worker = (arguments[arguments.index(name) + 1] for name in ("--job", "--worker"))
                lines.append(f"{job} {worker} {token(api, pod)}")
        begun = time.time()
        workers = Workers(options.build, authority, lines)
        first = seconds_until_attached("all attached", workers, count, begun)
    begun = time.time()
    try:
        with operator(options.build):
            again = seconds_until_attached("all attached again", workers, count, begun)
    finally:
        workers.stop()
    return {"workers": count, "seconds_until_attached": first, "seconds_until_attached_to_the_next_operator": again}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=1000, metavar="N")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", metavar="DIR",
                        help="build folder with bin/freezepipe-operator and bin/attach_many (default: build/release)")
    options = parser.parse_args()
    with own_cluster():
        print(json.dumps(measure(options), indent=2))


main()
