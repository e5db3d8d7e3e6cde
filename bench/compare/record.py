"""Runs a program on given cores and says what it used (seconds, processor time, memory), and what others used of the
processors meanwhile."""

import os
import pathlib
import subprocess
import threading
import time

POLL_SECONDS = 0.5


def run(command, log, cores, env=None):
    """Standard output and errors go to the file `log`. The processes that the program starts count as its own."""
    begin, busy = time.monotonic(), busy_seconds()
    with open(log, "w") as output:
        process = subprocess.Popen([str(part) for part in command], stdout=output, stderr=output, env=env,
                                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
    watch = MemoryWatch(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    peak = watch.end()
    if process.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n" + pathlib.Path(log).read_text()[-3000:])
    own = usage.ru_utime + usage.ru_stime
    return {"wall_seconds": wall, "cpu_seconds": own, "other_cpu_seconds": max(0, busy_seconds() - busy - own),
            "peak_rss_mb": peak / 1e6}


def busy_seconds():
    """Processor seconds that the whole machine has used since it started."""
    user, nice, system, _, _, irq, soft_irq, steal = map(int, pathlib.Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


class MemoryWatch:
    """The largest sum of resident memory of a process and its descendants, looked at twice a second; pages that they
    share count for each."""

    def __init__(self, pid):
        self._pid, self._peak, self._ended = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self):
        while not self._ended.wait(POLL_SECONDS):
            self._peak = max(self._peak, sum(map(resident_bytes, tree(self._pid))))

    def end(self):
        self._ended.set()
        self._thread.join()
        return self._peak


def tree(pid):
    found = [pid]
    for parent in found:
        try:
            for children in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
                found.extend(map(int, children.read_text().split()))
        except OSError:
            pass  # it has ended
    return found


def resident_bytes(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
