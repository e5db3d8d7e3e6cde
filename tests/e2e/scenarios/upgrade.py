"""The chart is upgraded, uninstalled and installed again while a job trains: the job, and its kind, survive."""

from harness import cluster, jobs, leader

IMAGES = ["operator", "worker-cpu"]


def trains_on(scenario, what):
    step = jobs.status(scenario, "survivor").get("step", 0)
    scenario.wait(what, lambda: jobs.status(scenario, "survivor").get("step", 0) > step, 90,
                  lambda: f"{leader.tell()} {jobs.tell(scenario, 'survivor')}")


def run(scenario):
    jobs.prepare_volumes(scenario)
    cluster.apply(jobs.job(scenario, "survivor", 2, {
        "training": {"epochs": 100, "batchSize": 128}, "freeze": {"policy": "None"}}))
    scenario.wait("the job trains", lambda: jobs.status(scenario, "survivor").get("step", 0) > 10, 120,
                  lambda: jobs.tell(scenario, "survivor"))
    before = {pod["metadata"]["name"] for pod in leader.pods()}
    cluster.install("podAnnotations.e2e=upgraded")
    scenario.check("an upgrade replaces both replicas", not before & {
        pod["metadata"]["name"] for pod in leader.pods() if not pod["metadata"].get("deletionTimestamp")}, before)
    trains_on(scenario, "the job trains on after it")

    cluster.helm("uninstall", "freezepipe", "-n", cluster.SYSTEM, "--wait")
    scenario.check("the kind of resource is kept when the chart is uninstalled",
                   cluster.kubectl("get", "crd", "freezepipejobs.freezepipe.io", "--ignore-not-found") != "")
    scenario.check("and the job", jobs.find(scenario, "survivor") is not None)
    # As when the operator moves to another namespace: a new lease counts terms from the start.
    cluster.kubectl("delete", "lease", leader.LEASE, "-n", cluster.SYSTEM)
    term = jobs.status(scenario, "survivor")["term"]
    cluster.install()
    trains_on(scenario, "the job trains on when it is installed again")
    scenario.check("under a later term", jobs.status(scenario, "survivor")["term"] > term, leader.tell())
    scenario.wait("and is Complete", lambda: jobs.condition(scenario, "survivor", "Complete") == "True", 300,
                  lambda: jobs.tell(scenario, "survivor"))
    now = jobs.status(scenario, "survivor")
    scenario.check("no worker was lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
