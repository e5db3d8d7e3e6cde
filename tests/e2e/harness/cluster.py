"""The cluster of tests/e2e/cluster, the images in it, and kubectl."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "tests/e2e/cluster"
IMAGES = ROOT / "build/images"
CACHE = pathlib.Path(os.environ.get("FP_CACHE_DIR", pathlib.Path.home() / ".cache/freezepipe"))
STATE = pathlib.Path(os.environ.get("FP_CLUSTER_DIR", "/tmp/fp-cluster"))
SYSTEM = "freezepipe-system"
GPU_RESOURCE = "nvidia.com/gpu"
GPUS_PER_NODE = 4
# Holds its pod's devices and does nothing.
PAUSE_IMAGE = "localhost/pause:1"


class CommandFailed(Exception):
    """A command's error output, or what it printed if there is none."""


def execute(*command, stdin=None, timeout=600, env=None):
    """Runs a command; returns what it printed. Throws CommandFailed."""
    done = subprocess.run([str(part) for part in command], input=stdin, capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(env or {})})
    if done.returncode != 0:
        raise CommandFailed((done.stderr or done.stdout).strip())
    return done.stdout


def binary(name):
    found = sorted(CACHE.glob(f"kube-v*/bin/{name}"))
    if not found:
        raise CommandFailed(f"{name} is missing under {CACHE}: run tests/e2e/cluster/build")
    return found[-1]


def is_built():
    return bool(list(CACHE.glob("kube-v*/images/selftest.tar")))


def is_there():
    return (STATE / ".fp-cluster").exists()


def kubectl(*arguments, stdin=None, timeout=120):
    return execute(binary("kubectl"), "--kubeconfig", STATE / "kubeconfig", *arguments, stdin=stdin, timeout=timeout)


def helm(*arguments, timeout=300):
    return execute(binary("helm"), "--kubeconfig", STATE / "kubeconfig", *arguments, timeout=timeout)


def get(kind, name, namespace):
    """An object, or None if there is none of this name."""
    found = kubectl("get", kind, name, "-n", namespace, "-o", "json", "--ignore-not-found")
    return json.loads(found) if found else None


def get_all(kind, namespace, selector=""):
    return json.loads(kubectl("get", kind, "-n", namespace, "-l", selector, "-o", "json"))["items"]


def apply(obj):
    kubectl("apply", "-f", "-", stdin=json.dumps(obj))


def start(nodes):
    """A cluster of so many nodes; one of this shape that runs already is kept."""
    if not is_built():
        execute(SCRIPTS / "build", timeout=3600)
    execute(SCRIPTS / "up", "--nodes", nodes, "--gpus", GPUS_PER_NODE)


def stop():
    execute(SCRIPTS / "down", "--keep-logs", "--quiet")


def build_images(*targets):
    execute(ROOT / "scripts/images", *targets, timeout=3600)


def load_image(target):
    """Into every node, unless this very archive is there; returns whether it was loaded."""
    archive = IMAGES / f"{target}.tar"
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha1").hexdigest()
    loaded = STATE / f"image-{target}"
    if loaded.exists() and loaded.read_text() == digest:
        return False
    execute(SCRIPTS / "load-image", archive)
    loaded.write_text(digest)
    return True


def install(*settings):
    """The chart in its own namespace, which has the restricted profile of Pod Security."""
    make_namespace(SYSTEM)
    values = [part for setting in settings for part in ("--set", setting)]
    helm("upgrade", "--install", "freezepipe", ROOT / "helm/freezepipe", "-n", SYSTEM, "--wait",
         "--timeout", "2m", "--reset-values", *values)


def restart_operator():
    """New pods, for a new image of the same name."""
    kubectl("rollout", "restart", "deployment/freezepipe", "-n", SYSTEM)
    kubectl("rollout", "status", "deployment/freezepipe", "-n", SYSTEM, "--timeout=120s", timeout=130)


def process(daemon):
    """The process of one of the cluster's daemons, "cp-apiserver"."""
    return int((STATE / f"run/{daemon}.pid").read_text().split()[0])


def pause(daemon):
    """Stops one of the cluster's daemons where it is, until resume()."""
    os.kill(process(daemon), signal.SIGSTOP)


def resume(daemon):
    pid = process(daemon)
    os.kill(pid, signal.SIGCONT)
    # nsenter, its parent, has stopped itself with it, and would never take note of its end.
    parent = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(parent, signal.SIGCONT)


def process_runs(pid):
    try:
        return not pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].startswith(" Z")
    except OSError:
        return False


def kill_container(namespace, pod):
    """Ends a pod's processes as a crash would: nodes are process namespaces of this machine."""
    uid = get("pod", pod, namespace)["metadata"]["uid"]
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if uid in (folder / "cgroup").read_text() and "pause" not in (folder / "comm").read_text():
                os.kill(int(folder.name), signal.SIGKILL)
        except OSError:
            continue  # it has ended by itself


def node(order, name):
    """Cuts ("stop") or restores ("start") the power of "node-1"."""
    execute(SCRIPTS / "node", order, name.removeprefix("node-"))


def restart_api_server():
    """It knows no history from before: watches from there on are told 410."""
    execute(SCRIPTS / "restart", "cp-apiserver")


def compact_etcd():
    """etcd forgets what was before now."""
    etcd = ["ip", "netns", "exec", f"{os.environ.get('FP_CLUSTER_NAME', 'fpc')}-cp", "curl", "-sf",
            "http://127.0.0.1:2379/v3/kv"]
    found = json.loads(execute(*etcd[:-1], etcd[-1] + "/range", "-d", '{"key":"AA=="}'))
    execute(*etcd[:-1], etcd[-1] + "/compaction", "-d", json.dumps({"revision": found["header"]["revision"]}))


def make_namespace(name):
    apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
