"""The API server refuses bad manifests at the paths where `freezepipe validate` does, and documents the rest."""

import json
import re

from harness import cluster

IMAGES = []

MANIFESTS = cluster.ROOT / "tests/manifests"
# "* PATH: Invalid value: ..." for each of several faults, "...: PATH: Invalid value: ..." for a single one.
FAULT = re.compile(r"(?:^\* |: )((?:spec|metadata)\b[\w.\[\]]*): ((?:Invalid value: (?:\"object\": )?|Required value"
                   r"|Unsupported value|Duplicate value|Too many|Too long).*)$", re.M)
RULE = re.compile(r'^Invalid value: "object": ')
UNKNOWN_FIELD = re.compile(r'unknown field "([^"]+)"')
# kubectl reads YAML by rules of its own before it asks anyone: `yes` is true, and 3.0 is 3.
TAKEN_BY_KUBECTL = {"type-yes-for-boolean", "type-float-for-integer"}
# A job that no operator touches.
MANAGED_BY = "freezepipe.io/e2e"


def answer_to(scenario, path):
    """What the API server says to a manifest, without keeping the object; empty: it takes it."""
    manifest = re.sub(r"\bnamespace: [\w-]+", f"namespace: {scenario.namespace}", path.read_text())
    try:
        cluster.kubectl("create", "-n", scenario.namespace, "--dry-run=server", "--validate=strict", "-f", "-",
                        stdin=manifest)
    except cluster.CommandFailed as error:
        return str(error)
    return ""


def expected_faults(path):
    """Path and message of each fault that `freezepipe validate` tells of, but for those of YAML itself."""
    lines = [line.split(": ", 1) for line in path.with_suffix(".faults").read_text().splitlines() if ": " in line]
    return {re.sub(r'\["([\w.]+)"\]', r".\1", fault): message for fault, message in lines}


def is_told(path, found):
    """Whether the API server names the path, or a part of it, or what holds it."""
    return any(other == path or other.startswith((path + ".", path + "[")) or path.startswith(other + "[")
               for other in found)


def refuses_bad_manifests(scenario):
    taken, misplaced, reworded = [], [], []
    manifests = [path for path in sorted(MANIFESTS.glob("bad/*.yaml"))
                 if not path.stem.startswith("yaml-") and path.stem not in TAKEN_BY_KUBECTL]
    for path in manifests:
        expected = expected_faults(path)
        if all(fault.startswith("status") or " " in fault for fault in expected):
            continue  # a status isn't taken from the one who creates the job
        answer = answer_to(scenario, path)
        if not answer:
            taken.append(path.stem)
        found = dict(FAULT.findall(answer))
        unknown = UNKNOWN_FIELD.findall(answer)
        # Fields that it doesn't know end the matter before anything else is looked at.
        missing = [fault for fault, message in expected.items() if not is_told(fault, unknown or found)
                   and (not unknown or message.startswith("unknown field"))]
        if missing and not path.stem.startswith(("object-", "several-")):
            misplaced.append(f"{path.stem}: {missing} not in {sorted(unknown or found)}")
        if path.stem.startswith("rule-"):
            told = {fault: RULE.sub("", message) for fault, message in found.items()}
            if told != expected:
                reworded.append(f"{path.stem}: {told} instead of {expected}")
    scenario.check("all bad manifests are refused", not taken, taken)
    scenario.check("at the paths that `freezepipe validate` names", not misplaced, "\n     ".join(misplaced))
    scenario.check("rules between fields are told in the same words", not reworded, "\n     ".join(reworded))
    print(f"     {len(manifests)} manifests")


def takes_good_manifests(scenario):
    refused = {path.stem: answer for path in sorted(MANIFESTS.glob("good/*.yaml"))
               if (answer := answer_to(scenario, path))}
    scenario.check("good manifests are taken", not refused, refused)
    refused = {path.stem: answer for path in sorted((cluster.ROOT / "examples").rglob("*.yaml"))
               if (answer := answer_to(scenario, path)) and "unable to recognize" not in answer}
    scenario.check("and the examples", not refused, refused)


def fields(schema):
    for name, inner in schema.get("properties", {}).items():
        yield name, inner
        yield from fields(inner)
    if "items" in schema:
        yield from fields(schema["items"])


def explains_every_field(scenario):
    crd = json.loads(cluster.kubectl("get", "crd", "freezepipejobs.freezepipe.io", "-o", "json"))
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    silent = [name for part in ("spec", "status") for name, inner in fields(schema["properties"][part])
              if not inner.get("description")]
    scenario.check("every field of ours has a description", not silent, silent)
    told = cluster.kubectl("explain", "fpj.spec", "--recursive")
    missing = [name for name, _ in fields(schema["properties"]["spec"]) if name not in told]
    scenario.check("kubectl explain names every field of the spec", not missing, missing)
    # Wrapped to the terminal's width.
    text = " ".join(cluster.kubectl("explain", "fpj.spec.training.batchSize").split())
    described = schema["properties"]["spec"]["properties"]["training"]["properties"]["batchSize"]["description"]
    scenario.check("and tells what the manifest reference does", described in text, text)


def make_job(scenario, name):
    cluster.apply({
        "apiVersion": "freezepipe.io/v1alpha1", "kind": "FreezePipeJob",
        "metadata": {"name": name, "namespace": scenario.namespace},
        "spec": {"model": {"zoo": {"name": "mlp"}}, "dataset": {"format": "Mnist", "path": "/data"},
                 "training": {"epochs": 3}, "worker": {"count": 4}, "runPolicy": {"managedBy": MANAGED_BY}}})


def patch(scenario, name, change, *arguments):
    """The API server's complaint; empty if there is none."""
    try:
        cluster.kubectl("patch", "fpj", name, "-n", scenario.namespace, "--type=merge", "-p", json.dumps(change),
                        *arguments)
    except cluster.CommandFailed as error:
        return str(error)
    return ""


def keeps_what_was_started(scenario):
    make_job(scenario, "started")
    answer = patch(scenario, "started", {"spec": {"training": {"epochs": 4}}})
    scenario.check("before its start a job may change", not answer, answer)
    patch(scenario, "started", {"status": {"state": "Running", "startTime": "2030-01-31T12:00:00Z"}},
          "--subresource=status")
    for part, change in {"model": {"zoo": {"name": "resnet18"}}, "dataset": {"path": "/other"},
                         "training": {"epochs": 5}}.items():
        answer = patch(scenario, "started", {"spec": {part: change}})
        scenario.check(f"afterwards its {part} can't",
                       f"spec.{part}: Invalid value" in answer and f"{part} can't change once the job has started" in answer,
                       answer)
    others = {"pipeline": {"microBatches": 8}, "freeze": {"policy": "None"}, "release": {"timeShare": 0.25},
              "checkpoint": {"keep": 7}, "worker": {"count": 3}}
    for part, change in others.items():
        answer = patch(scenario, "started", {"spec": {part: change}})
        scenario.check(f"nor its {part}, while it runs", "can't change while the job runs: suspend it first" in answer, answer)
    answer = patch(scenario, "started", {"spec": {"runPolicy": {"managedBy": "another"}}})
    scenario.check("nor who manages it", "managedBy can't change" in answer, answer)
    answer = patch(scenario, "started", {"spec": {"runPolicy": {"suspend": True}}})
    scenario.check("it may be suspended", not answer, answer)
    patch(scenario, "started", {"status": {"state": "Suspended", "startTime": None, "generation": 3}}, "--subresource=status")
    answer = patch(scenario, "started", {"spec": others | {"runPolicy": {"suspend": False}}})
    scenario.check("then these may change", not answer, answer)
    answer = patch(scenario, "started", {"spec": {"model": {"zoo": {"name": "resnet18"}}}})
    scenario.check("but not what it trains", "model can't change once the job has started" in answer, answer)


def shows_columns(scenario):
    make_job(scenario, "shown")
    patch(scenario, "shown", {"spec": {"training": {"epochs": 7}}, "status": {
        "state": "Running", "step": 120, "boundary": 3, "stageCount": 2, "freedWorkers": 2, "accuracy": 0.75}},
        "--subresource=status")
    titles, values = cluster.kubectl("get", "fpj", "shown", "-n", scenario.namespace).splitlines()
    scenario.check("kubectl get has its columns",
                   titles.split() == ["NAME", "STATE", "STEP", "FROZEN", "STAGES", "FREED", "ACCURACY", "AGE"], titles)
    scenario.check("with the job's numbers",
                   values.split()[:-1] == ["shown", "Running", "120", "3", "2", "2", "0.75"], values)
    job = cluster.get("fpj", "shown", scenario.namespace)
    scenario.check("the status is written apart from the spec", job["spec"]["training"]["epochs"] == 3,
                   job["spec"]["training"])


def run(scenario):
    refuses_bad_manifests(scenario)
    takes_good_manifests(scenario)
    explains_every_field(scenario)
    keeps_what_was_started(scenario)
    shows_columns(scenario)
