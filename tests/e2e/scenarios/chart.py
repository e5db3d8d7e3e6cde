"""The chart: its test runs a job, its rights are few, what it is told wrong it refuses, and it can keep to namespaces."""

import json

import yaml

from harness import cluster

IMAGES = ["operator", "worker-cpu"]

CHART = cluster.ROOT / "helm/freezepipe"


def refusal(*arguments):
    """What helm says to settings of the chart; empty if it takes them."""
    try:
        cluster.helm("upgrade", "freezepipe", CHART, "-n", cluster.SYSTEM, "--dry-run=server", *arguments)
    except cluster.CommandFailed as error:
        return str(error)
    return ""


def tries_itself(scenario, namespace, what):
    try:
        cluster.helm("test", "freezepipe", "-n", cluster.SYSTEM, "--timeout", "5m")
        failed = ""
    except cluster.CommandFailed as error:
        failed = str(error)
    told = cluster.kubectl("logs", "freezepipe-trial", "-n", namespace)
    scenario.check(what, not failed, f"{failed}\n{told}")
    scenario.check("its job shrank", "Succeeded, 2 layers frozen, 1 workers train, 1 freed" in told, told)


def roles(kind, namespace=""):
    found = cluster.get_all(kind, namespace or "default", "app.kubernetes.io/name=freezepipe")
    return {role["metadata"]["name"]: role["rules"] for role in found}


def has_few_rights(scenario):
    rules = [rule for named in (roles("clusterroles"), roles("roles", cluster.SYSTEM)) for each in named.values()
             for rule in each]
    wild = [rule for rule in rules if "*" in json.dumps(rule)]
    scenario.check("no right is a wildcard", rules and not wild, wild)
    account = f"--as=system:serviceaccount:{cluster.SYSTEM}:freezepipe"
    for verb, thing, where in (("get", "secrets", scenario.namespace), ("list", "secrets", cluster.SYSTEM),
                               ("create", "deployments", scenario.namespace), ("delete", "nodes", "default")):
        try:
            answer = cluster.kubectl("auth", "can-i", verb, thing, "-n", where, account).strip()
        except cluster.CommandFailed as error:
            answer = str(error)  # kubectl fails when the answer is no
        scenario.check(f"the operator can't {verb} {thing}", answer != "yes", answer)


def refuses_mistakes(scenario):
    said = refusal("--set", "replica=3")
    scenario.check("a misspelt value is refused by its name", "replica" in said, said)
    said = refusal("--set", "metrics.podMonitor.enabled=true")
    scenario.check("a monitor without its API is explained", "install the Prometheus Operator first" in said, said)
    said = refusal("--set", "networkPolicy.enabled=true")
    scenario.check("the network policy is one", not said, said)


def has_plain_manifests(scenario):
    plain = list(yaml.safe_load_all((cluster.ROOT / "deploy/freezepipe.yaml").read_text()))
    try:
        cluster.kubectl("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f",
                        cluster.ROOT / "deploy/freezepipe.yaml")
        said = ""
    except cluster.CommandFailed as error:
        said = str(error)
    scenario.check(f"the {len(plain)} plain manifests are taken", not said, said)


def keeps_to_namespaces(scenario):
    cluster.install(f"watchNamespaces={{{scenario.namespace}}}")
    try:
        rights = [rule for rules in roles("clusterroles").values() for rule in rules
                  if set(rule["verbs"]) - {"get", "list", "watch"} and rule["apiGroups"] != ["freezepipe.io"]]
        scenario.check("in namespaced mode one right in the cluster is left",
                       rights == [{"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"],
                                   "verbs": ["create"]}], rights)
        tries_itself(scenario, scenario.namespace, "and its test runs a job there")
    finally:
        cluster.install()


def run(scenario):
    has_few_rights(scenario)
    refuses_mistakes(scenario)
    has_plain_manifests(scenario)
    tries_itself(scenario, cluster.SYSTEM, "the chart's own test passes")
    keeps_to_namespaces(scenario)
