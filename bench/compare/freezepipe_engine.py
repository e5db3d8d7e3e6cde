"""One run of FreezePipe, and what its events say of it."""

import hashlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import common
import record
import settings
from engines import DEVICES


def spec(engine, conditions):
    made = common.cifar_spec(conditions.cifar10, train=conditions.train, test=conditions.test,
                             epochs=conditions.epochs, lr=conditions.lr, micro_batches=settings.MICRO_BATCHES,
                             workers=DEVICES, seed=conditions.seed)
    made["training"]["memoryFormat"] = conditions.memory_format
    made["model"]["initialWeights"] = {"path": conditions.weights}
    if conditions.augment:
        made["dataset"]["augmentation"] = {"randomCropPadding": 4, "randomHorizontalFlip": True}
    made["pipeline"].update(engine.spec["pipeline"])
    made.update({key: value for key, value in engine.spec.items() if key != "pipeline"})
    if made["freeze"]["policy"] == "GradientChange":
        made["freeze"] = {**made["freeze"], "preset": conditions.preset}
    return made


def manifest(engine, conditions):
    return json.dumps({"apiVersion": "freezepipe.io/v1alpha1", "kind": "FreezePipeJob", "metadata": {"name": "bench"},
                       "spec": spec(engine, conditions)})


def refusal(engine, conditions, folder, bin_dir):
    """What `freezepipe validate` has against the manifest, or nothing."""
    path = folder / "validate.json"
    path.write_text(manifest(engine, conditions))
    done = subprocess.run([str(bin_dir / "freezepipe"), "validate", str(path)], capture_output=True, text=True)
    path.unlink()
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip()


def run(engine, conditions, folder, bin_dir):
    folder.mkdir(parents=True)
    (folder / "job.json").write_text(manifest(engine, conditions))
    output = folder / "output"
    used = record.run([bin_dir / "freezepipe", "run", folder / "job.json", "--device", "cpu", "--output", output],
                      folder / "log", conditions.cores)
    events = [json.loads(line) for line in (output / "events.jsonl").read_text().splitlines()]
    summary = json.loads((output / "summary.json").read_text())
    for name in ("checkpoints", "model.safetensors"):  # of no use here, and large in all
        path = output / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return {**measured(events, summary, spec(engine, conditions)), **used, "build": build(bin_dir)}


def build(bin_dir):
    """A short name for these very programs."""
    digest = hashlib.sha256()
    for program in ("freezepipe", "freezepipe-worker"):
        digest.update((bin_dir / program).read_bytes())
    return digest.hexdigest()[:8]


def training_seconds(events):
    """(begin of the first step, end of the last evaluation)"""
    return (next(e["time"] for e in events if e.get("stateChanged", {}).get("state") == "Running"),
            max(e["time"] for e in events if "epochDone" in e))


def measured(events, summary, job):
    begin, end = training_seconds(events)
    plans = [e["planMade"] for e in events if "planMade" in e]
    released = sum(max(0, end - max(begin, r["time"])) for r in summary["releases"])
    steps_per_epoch = -(-job["dataset"]["limit"]["train"] // job["training"]["batchSize"])
    window = max(1, steps_per_epoch // job["freeze"].get("windowsPerEpoch", 4))
    # Of all stages at one step, the slowest.
    seconds = {}
    for event in events:
        if "stageTimes" in event:
            seconds[event["step"]] = max(seconds.get(event["step"], 0), event["stageTimes"]["seconds"])
    return {
        "train_seconds": end - begin,
        "evaluation_seconds": sum(epoch["evaluationSeconds"] for epoch in summary["epochs"]),
        "step_ms": 1e3 * statistics.median(seconds.values()) / window,
        "device_seconds": DEVICES * (end - begin) - released,
        "accuracies": [100 * epoch["accuracy"] for epoch in summary["epochs"]],
        "losses": [e["windowDone"]["loss"] for e in events if "windowDone" in e],
        "stages": [stage["endLayer"] - stage["firstLayer"] for stage in plans[0]["stages"]],
        "replicas": len(plans[0]["stages"][0]["workers"]),
        "freeze_log": [{key: entry[key] for key in ("boundary", "chosenAt", "frozenAt")}
                       for entry in summary["freezeLog"]],
        "repartitions": [{key: change[key] for key in ("step", "from", "to", "stallSeconds")}
                         for change in summary["repartitions"]],
        "released": len(summary["releases"]),
        "total_steps": summary["totalSteps"],
    }
