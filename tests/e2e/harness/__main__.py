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
FIRST = ["schema", "release"]
# Those of one pass: install, freeze, release, recover.
ONE_PASS = ["schema", "release", "recover"]


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


def arguments():
    parser = argparse.ArgumentParser(prog="tests/e2e/run", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="scenarios: " + " ".join(names()))
    parser.add_argument("scenario", nargs="*", help="all, if none is named")
    parser.add_argument("--one-pass", action="store_true", help="the short selection: " + " ".join(ONE_PASS))
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
    for target in targets:
        cluster.load_image(target)
    # Scenarios without images are about what the API server makes of the CRD alone.
    cluster.install(*([] if targets else ["replicas=0"]))
    print(f"cluster with FreezePipe in {time.monotonic() - start:.0f} s", flush=True)


def main():
    options = arguments()
    modules = chosen(options)
    lacking = why_not_here()
    if lacking:
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
    sys.exit(failed != 0)


main()
