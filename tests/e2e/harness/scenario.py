"""One scenario: a namespace, checks that are told and counted, and what is kept of a failure."""

import pathlib
import shutil
import tempfile
import time
import traceback

from harness import cluster


class GaveUp(Exception):
    """The scenario can't go on."""


class Scenario:
    """Handed to a scenario's run()."""

    def __init__(self, name, logs):
        self.name = name
        self.namespace = f"e2e-{name}".replace("_", "-")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"freezepipe-e2e-{name}-"))
        self.folder.chmod(0o755)
        self.passed = 0
        self.failed = 0
        self._logs = logs / name
        self._started = time.monotonic()

    def check(self, what, holds, detail=""):
        """Tells whether something holds, and goes on either way."""
        if holds:
            self.passed += 1
            print(f"PASS {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL {what}" + (f"\n     {detail}" if detail != "" else ""), flush=True)
        return bool(holds)

    def need(self, what, holds, detail=""):
        """As check, for what the rest of the scenario is built on."""
        if not self.check(what, holds, detail):
            raise GaveUp(what)

    def note(self, text):
        print(f"     {time.monotonic() - self._started:6.1f} s  {text}", flush=True)

    def wait(self, what, condition, seconds, describe=lambda: ""):
        """Waits until condition() is true, and gives up the scenario if it never is. Returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                self.check(what, True)
                return value
            if time.monotonic() > end:
                self.need(what, False, f"not in {seconds} s; {describe()}")
            time.sleep(0.25)

    def run(self, scenario):
        """Runs a scenario module; returns whether all of it passed."""
        print(f"---- {self.name}: {scenario.__doc__.strip().splitlines()[0]}", flush=True)
        try:
            cluster.make_namespace(self.namespace)
            scenario.run(self)
        except GaveUp:
            pass
        except Exception:  # whatever it was, the others still run
            self.check("goes to its end", False, traceback.format_exc())
        if self.failed:
            self._keep_logs()
        self._clean_up()
        return self.failed == 0

    def _keep_logs(self):
        shutil.rmtree(self._logs, ignore_errors=True)
        self._logs.mkdir(parents=True)
        for namespace in (self.namespace, cluster.SYSTEM):
            for kind in ("freezepipejobs", "pods", "events"):
                self._keep(f"{namespace}-{kind}.yaml", "get", kind, "-n", namespace, "-o", "yaml")
            for pod in cluster.get_all("pods", namespace):
                name = pod["metadata"]["name"]
                self._keep(f"{namespace}-{name}.log", "logs", "-n", namespace, name, "--all-containers", "--timestamps")
                self._keep(f"{namespace}-{name}.previous.log", "logs", "-n", namespace, name, "--previous")
        print(f"     what there was to see: {self._logs}", flush=True)

    def _keep(self, file, *arguments):
        try:
            (self._logs / file).write_text(cluster.kubectl(*arguments))
        except cluster.CommandFailed as error:
            (self._logs / file).write_text(f"{error}\n")

    def _clean_up(self):
        try:
            cluster.kubectl("delete", "namespace", self.namespace, "--ignore-not-found", "--timeout=120s", timeout=150)
            cluster.kubectl("delete", "persistentvolumes", "-l", f"e2e={self.name}", "--timeout=60s")
        except cluster.CommandFailed as error:
            self.check("leaves nothing behind", False, str(error))
        shutil.rmtree(self.folder, ignore_errors=True)
