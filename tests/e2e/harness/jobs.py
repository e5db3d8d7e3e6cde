"""Jobs of the scenarios: their manifests, volumes, pods, and how their weights compare."""

import copy
import json
import os
import pathlib
import re

import safetensors.numpy
import yaml

from harness import cluster
from harness.data import write_data_set

# So that several workers share two processors.
RESOURCES = {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {cluster.GPU_RESOURCE: 1}}


def volume(scenario, name, folder, writable):
    """A claim `name` in the scenario's namespace, on a folder of this machine, which all its nodes see."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777 if writable else 0o755)
    modes = ["ReadWriteMany" if writable else "ReadOnlyMany"]
    size = {"storage": "1Gi"}
    unique = f"{scenario.namespace}-{name}"
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolume",
                   "metadata": {"name": unique, "labels": {"e2e": scenario.name}},
                   "spec": {"capacity": size, "accessModes": modes, "storageClassName": "",
                            "persistentVolumeReclaimPolicy": "Retain",
                            "claimRef": {"namespace": scenario.namespace, "name": name},
                            "hostPath": {"path": str(folder), "type": "Directory"}}})
    cluster.apply({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
                   "metadata": {"name": name, "namespace": scenario.namespace},
                   "spec": {"accessModes": modes, "storageClassName": "", "volumeName": unique,
                            "resources": {"requests": size}}})


def prepare_volumes(scenario):
    """The claims "data", which holds the data set, and "checkpoints"."""
    write_data_set(scenario.folder / "data")
    volume(scenario, "data", scenario.folder / "data", writable=False)
    volume(scenario, "checkpoints", scenario.folder / "checkpoints", writable=True)


def job(scenario, name, workers, spec):
    """A manifest that trains a small network on the claim "data"; `spec` adds to it."""
    template = {"spec": {
        "containers": [{"name": "worker", "resources": copy.deepcopy(RESOURCES),
                        "volumeMounts": [{"name": "data", "mountPath": "/data", "readOnly": True}]}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data", "readOnly": True}}]}}
    return {"apiVersion": "freezepipe.io/v1alpha1", "kind": "FreezePipeJob",
            "metadata": {"name": name, "namespace": scenario.namespace},
            "spec": {"model": {"zoo": {"name": "vgg11_bn", "widthMultiplier": 0.25}},
                     "dataset": {"format": "Mnist", "path": "/data"},
                     "worker": {"count": workers, "template": template}, **spec}}


def find(scenario, name):
    return cluster.get("freezepipejobs", name, scenario.namespace)


def status(scenario, name):
    found = find(scenario, name)
    return (found or {}).get("status", {})


def condition(scenario, name, kind):
    """The condition's status: "True", "False", or "" if it isn't there."""
    for item in status(scenario, name).get("conditions", []):
        if item["type"] == kind:
            return item["status"]
    return ""


def tell(scenario, name):
    """A job's state in a line, for a wait that was in vain."""
    now = status(scenario, name)
    pods = {pod["metadata"]["name"]: pod["status"].get("phase") for pod in worker_pods(scenario, name)}
    return f"{name}: {json.dumps({k: now.get(k) for k in ('state', 'message', 'step', 'stageCount')})}, pods {pods}"


def worker_pods(scenario, name):
    return cluster.get_all("pods", scenario.namespace, f"freezepipe.io/job={name},freezepipe.io/role=worker")


def longest_pause(scenario, pod):
    """Seconds of the longest step that a worker trained, by its last words."""
    log = cluster.kubectl("logs", "-n", scenario.namespace, pod["metadata"]["name"])
    said = re.search(r"its longest step took ([\d.e-]+) s", log)
    return float(said[1]) if said else 0.0


def phase(pod):
    return pod["status"].get("phase")


def local_program():
    """`freezepipe` with its worker beside it: FREEZEPIPE_BIN, or a build of this tree, which is made if there is none."""
    folders = [cluster.ROOT / "build" / build / "bin" for build in ("release", "main")]
    if os.environ.get("FREEZEPIPE_BIN"):
        folders = [pathlib.Path(os.environ["FREEZEPIPE_BIN"])]
    for folder in folders:
        if (folder / "freezepipe").exists() and (folder / "freezepipe-worker").exists():
            return folder / "freezepipe"
    cluster.execute(cluster.ROOT / "scripts/build", "release", "freezepipe", "freezepipe-worker", timeout=3600)
    return folders[0] / "freezepipe"


def replay(scenario, name):
    """Runs a finished job anew on this machine, by its freeze log; returns the output folder."""
    done = find(scenario, name)
    spec = {part: value for part, value in done["spec"].items() if part != "runPolicy"}
    spec["dataset"] = {**spec["dataset"], "path": str(scenario.folder / "data")}
    spec["freeze"] = {"policy": "Manual", "coolDown": spec["freeze"].get("coolDown", 0),
                      "windowsPerEpoch": spec["freeze"].get("windowsPerEpoch", 4),
                      "manual": done["status"]["freezeLog"]}
    spec["checkpoint"] = {part: value for part, value in spec["checkpoint"].items() if part != "claimName"}
    spec["worker"] = {"count": spec["worker"]["count"]}
    manifest = scenario.folder / f"{name}.yaml"
    manifest.write_text(yaml.safe_dump({**{k: done[k] for k in ("apiVersion", "kind")},
                                        "metadata": {"name": name}, "spec": spec}))
    output = scenario.folder / f"{name}-local"
    cluster.execute(local_program(), "run", manifest, "--output", output, timeout=1200)
    return output


def checkpoint(folder, step):
    """All tensors of a checkpoint that the training goes on from, by layer file and name, as bytes."""
    tensors = {}
    for file in sorted((folder / f"step-{step:08d}").glob("*.safetensors")):
        for name, array in safetensors.numpy.load_file(file).items():
            if not name.startswith("freeze/"):
                tensors[f"{file.name}:{name}"] = array.tobytes()
    return tensors


def checkpoints_of(scenario, name):
    """The job's folder in the claim "checkpoints"."""
    return scenario.folder / "checkpoints" / f"{name}-{find(scenario, name)['metadata']['uid']}"


def check_weights(scenario, name):
    """The weights of a finished job with the claim "checkpoints" are those of an undisturbed run by its freeze log."""
    step = status(scenario, name)["totalSteps"]
    in_cluster = checkpoint(checkpoints_of(scenario, name), step)
    scenario.check("the last checkpoint is in the claim", len(in_cluster) > 0)
    here = checkpoint(replay(scenario, name) / "checkpoints", step)
    different = [tensor for tensor in here.keys() | in_cluster.keys() if here.get(tensor) != in_cluster.get(tensor)]
    scenario.check("its weights equal those of `freezepipe run` by the same freeze log, bit for bit", not different,
                   sorted(different)[:5])
