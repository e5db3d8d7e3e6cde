"""Suspend and go on, deadlines, time to live, back-off, jobs that can't start: conditions, events, and nothing held."""

from harness import cluster, jobs

IMAGES = ["operator", "worker-cpu"]

LONG = {"training": {"epochs": 400, "batchSize": 128}, "freeze": {"policy": "None"}}
SHORT = {"training": {"epochs": 2, "batchSize": 128}, "freeze": {"policy": "None"}}


def reason(scenario, name, kind):
    """Of a condition: its reason and message."""
    for item in jobs.status(scenario, name).get("conditions", []):
        if item["type"] == kind:
            return item["reason"], item["message"]
    return "", ""


def living_pods(scenario, name):
    return [pod["metadata"]["name"] for pod in cluster.get_all("pods", scenario.namespace, f"freezepipe.io/job={name}")
            if jobs.phase(pod) not in ("Succeeded", "Failed")]


def event_reasons(scenario, name):
    return {event["reason"] for event in cluster.get_all("events", scenario.namespace)
            if event["involvedObject"]["name"] == name}


def set_suspend(scenario, name, value):
    cluster.kubectl("patch", "fpj", name, "-n", scenario.namespace, "--type=merge", "-p",
                    '{"spec":{"runPolicy":{"suspend":%s}}}' % str(value).lower())


def wait_for(scenario, what, name, kind, seconds=120):
    scenario.wait(what, lambda: jobs.condition(scenario, name, kind) == "True", seconds,
                  lambda: jobs.tell(scenario, name))


def wait_for_step(scenario, name, step):
    scenario.wait(f"{name} trains to step {step}", lambda: jobs.status(scenario, name).get("step", 0) >= step, 180,
                  lambda: jobs.tell(scenario, name))


def fails(scenario, name, why, seconds=120):
    wait_for(scenario, f"{name} is Failed", name, "Failed", seconds)
    scenario.check(f"because of {why}", reason(scenario, name, "Failed")[0] == why, reason(scenario, name, "Failed"))
    scenario.check("and holds no pod", not living_pods(scenario, name), living_pods(scenario, name))
    scenario.wait("an event says so", lambda: why in event_reasons(scenario, name), 20,
                  lambda: event_reasons(scenario, name))


def suspends_and_goes_on(scenario):
    # Long enough to be caught in the middle.
    cluster.apply(jobs.job(scenario, "pausing", 2, {
        "training": {"epochs": 12, "batchSize": 128, "seed": 5},
        "freeze": {"policy": "Manual", "coolDown": 0, "manual": [{"chosenAt": 90, "frozenAt": 90, "boundary": 3}]},
        "release": {"timeShare": 1}, "checkpoint": {"claimName": "checkpoints"}}))
    wait_for_step(scenario, "pausing", 30)
    set_suspend(scenario, "pausing", True)
    wait_for(scenario, "a job is suspended in the middle", "pausing", "Suspended")
    scenario.check("and holds no pod", not living_pods(scenario, "pausing"), living_pods(scenario, "pausing"))
    stopped_at = jobs.status(scenario, "pausing")["step"]
    set_suspend(scenario, "pausing", False)
    wait_for_step(scenario, "pausing", stopped_at + 1)
    wait_for(scenario, "it goes on to its end", "pausing", "Complete", 240)
    now = jobs.status(scenario, "pausing")
    scenario.check("no worker counted as lost", (now["restarts"], now.get("disruptions", 0)) == (0, 0), now)
    step = now["totalSteps"]
    in_cluster = jobs.checkpoint(jobs.checkpoints_of(scenario, "pausing"), step)
    here = jobs.checkpoint(jobs.replay(scenario, "pausing") / "checkpoints", step)
    scenario.check("with the weights of a run that was never suspended", in_cluster and in_cluster == here)


def suspended_from_the_start(scenario):
    cluster.apply(jobs.job(scenario, "waiting", 1, {**SHORT, "runPolicy": {"suspend": True}}))
    wait_for(scenario, "a job may be suspended from the start", "waiting", "Suspended", 30)
    scenario.check("it has no pod", not cluster.get_all("pods", scenario.namespace, "freezepipe.io/job=waiting"))
    set_suspend(scenario, "waiting", False)
    wait_for(scenario, "and then runs", "waiting", "Complete", 120)


def deleted_in_the_middle(scenario):
    cluster.apply(jobs.job(scenario, "deleted", 2, LONG))
    wait_for_step(scenario, "deleted", 5)
    cluster.kubectl("delete", "fpj", "deleted", "-n", scenario.namespace)
    scenario.wait("a deleted job's pods go", lambda: not cluster.get_all(
        "pods", scenario.namespace, "freezepipe.io/job=deleted"), 90)


def active_deadline(scenario):
    cluster.apply(jobs.job(scenario, "late", 1, {**LONG, "runPolicy": {"activeDeadlineSeconds": 15}}))
    fails(scenario, "late", "DeadlineExceeded")


def time_to_live(scenario):
    cluster.apply(jobs.job(scenario, "brief", 1, {**SHORT, "runPolicy": {"ttlSecondsAfterFinished": 5}}))
    wait_for(scenario, "brief is Complete", "brief", "Complete")
    scenario.wait("and is deleted in its time", lambda: jobs.find(scenario, "brief") is None, 30)


def back_off(scenario):
    job = jobs.job(scenario, "crashing", 1, {**LONG, "runPolicy": {"backoffLimit": 1}})
    # LibTorch alone is larger: the kernel ends it.
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"] = "64Mi"
    cluster.apply(job)
    fails(scenario, "crashing", "BackoffLimitExceeded", 180)
    scenario.check("two workers were lost by their own fault", jobs.status(scenario, "crashing")["restarts"] == 2,
                   jobs.status(scenario, "crashing"))


def no_such_image(scenario):
    job = jobs.job(scenario, "imageless", 1, {**LONG, "runPolicy": {"startDeadlineSeconds": 30}})
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["image"] = "localhost/nothing:1"
    cluster.apply(job)
    scenario.wait("that an image doesn't exist is said of the job",
                  lambda: reason(scenario, "imageless", "Running")[0] in ("ErrImagePull", "ImagePullBackOff"), 30,
                  lambda: reason(scenario, "imageless", "Running"))
    fails(scenario, "imageless", "StartDeadlineExceeded")


def unschedulable(scenario):
    job = jobs.job(scenario, "greedy", 1, {**LONG, "runPolicy": {"startDeadlineSeconds": 20}})
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"]["limits"][cluster.GPU_RESOURCE] = 100
    cluster.apply(job)
    scenario.wait("what the scheduler says is said of the job",
                  lambda: reason(scenario, "greedy", "Running")[0] == "Unschedulable", 30,
                  lambda: reason(scenario, "greedy", "Running"))
    scenario.check("in its words", "Insufficient nvidia.com/gpu" in reason(scenario, "greedy", "Running")[1],
                   reason(scenario, "greedy", "Running"))
    fails(scenario, "greedy", "StartDeadlineExceeded")


def invalid(scenario):
    job = jobs.job(scenario, "pathless", 1, SHORT)
    job["spec"]["dataset"]["path"] = "/nowhere"
    cluster.apply(job)
    fails(scenario, "pathless", "InvalidSpec")
    scenario.check("the field is named", "dataset.path" in reason(scenario, "pathless", "Failed")[1],
                   reason(scenario, "pathless", "Failed"))
    job = jobs.job(scenario, "template", 1, SHORT)
    job["spec"]["worker"]["template"]["spec"]["containers"][0]["nonsense"] = 1
    cluster.apply(job)
    fails(scenario, "template", "InvalidSpec", 30)
    scenario.check("what the API server dislikes is named", "nonsense" in reason(scenario, "template", "Failed")[1],
                   reason(scenario, "template", "Failed"))


def run(scenario):
    jobs.prepare_volumes(scenario)
    invalid(scenario)
    unschedulable(scenario)
    no_such_image(scenario)
    suspended_from_the_start(scenario)
    suspends_and_goes_on(scenario)
    deleted_in_the_middle(scenario)
    active_deadline(scenario)
    time_to_live(scenario)
    back_off(scenario)
