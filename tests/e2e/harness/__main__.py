"""Runs scenarios of tests/e2e/scenarios on a cluster of this machine's own: 2 nodes with 4 GPUs each, that are only
numbers to the scheduler. Builds what is missing: the cluster's programs, the images, FreezePipe's chart installed."""

import argparse
import importlib
import os
import pathlib
import pkgutil
import sys
import time

import scenarios
from harness import cluster
from harness.scenario import Scenario

NODES = 2
# In an order that tells soon what is wrong.
FIRST = ["schema", "chart", "release", "recover"]
# Those of one pass: install, freeze, release, recover.
ONE_PASS = FIRST


def names():
    found = {module.name for module in pkgutil.iter_modules(scenarios.__path__)}
    return sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name))


def why_not_here():
    """What this machine lacks; empty if nothing."""
    if os.getuid() != 0:
        return "root is needed"
    if not pathlib.Path("/sys/fs/cgroup/cpu/tasks").exists():
        return "cgroup v1 controllers are needed"
    return ""


def why_not_now():
    """Why a run that isn't insisted on is left out; empty: it isn't. FREEZEPIPE_E2E=1 insists, 0 leaves it out."""
    wanted = os.environ.get("FREEZEPIPE_E2E", "")
    if wanted == "0":
        return "FREEZEPIPE_E2E is 0"
    if lacking := why_not_here():
        return lacking
    if wanted == "1":
        return ""
    if cluster.is_there():
        return f"a cluster runs already in {cluster.STATE}: tests/e2e/run uses it, tests/e2e/cluster/down ends it"
    if cluster.is_built():
        return ""
    return "the cluster's programs aren't built (tests/e2e/cluster/build, about 12 minutes, or FREEZEPIPE_E2E=1)"


def arguments():
    parser = argparse.ArgumentParser(prog="tests/e2e/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="scenarios: " + " ".join(names()))
    parser.add_argument("scenario", nargs="*", help="all, if none is named")
    parser.add_argument("--one-pass", action="store_true", help="the short selection: " + " ".join(ONE_PASS))
    parser.add_argument("--if-possible", action="store_true", help="where it can't run, say why and succeed")
    parser.add_argument("--no-build", action="store_true", help="use the images in build/images as they are")
    parser.add_argument("--keep", action="store_true", help="leave the cluster running")
    return parser.parse_args()


def chosen(options):
    wanted = options.scenario or (ONE_PASS if options.one_pass else names())
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        sys.exit(f"no scenario {unknown[0]}; there are: {' '.join(names())}")
    return [(name, importlib.import_module(f"scenarios.{name}")) for name in wanted]


def prepare(modules, build):
    """All that stands before the first scenario starts."""
    targets = sorted({target for _, module in modules for target in module.IMAGES})
    start = time.monotonic()
    if targets and build:
        cluster.build_images(*targets)
    cluster.start(NODES)
    was_there = cluster.get("deployment", "freezepipe", cluster.SYSTEM) is not None
    loaded = [target for target in targets if cluster.load_image(target)]
    # Scenarios without images are about what the API server makes of the CRD alone.
    cluster.install(*([] if targets else ["replicas=0"]))
    if loaded and was_there:
        cluster.restart_operator()
    print(f"cluster with FreezePipe in {time.monotonic() - start:.0f} s", flush=True)


def main():
    options = arguments()
    modules = chosen(options)
    if options.if_possible and (why := why_not_now()):
        print(f"end-to-end tests are left out: {why}")
        return
    if lacking := why_not_here():
        sys.exit(f"the cluster can't run here: {lacking}")
    logs = cluster.ROOT / "build/e2e"
    passed = failed = 0
    try:
        prepare(modules, build=not options.no_build)
        for name, module in modules:
            scenario = Scenario(name, logs)
            scenario.run(module)
            passed += scenario.passed
            failed += scenario.failed
    except cluster.CommandFailed as error:
        print(f"FAIL the cluster gets ready\n     {error}")
        failed += 1
    finally:
        if not options.keep:
            cluster.stop()
    print(f"{passed} passed, {failed} failed")
    if failed:
        sys.exit(1)


main()
