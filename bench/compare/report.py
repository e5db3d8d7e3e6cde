"""Tables, a JSON summary and plots of the runs."""

import dataclasses
import json

import plots
from aims import AIMS
from causes import causes
from engines import ENGINES
from settings import LAYOUTS, SETTINGS
from statistics_of_runs import Runs

PEERS = ["torchgpipe", "torchgpipe-threads", "torchgpipe-never", "1f1b", "plain", "ddp"]
# Other programs' share of the run's seconds from which its times are doubtful.
DISTURBED = 0.1
NOTES = """\
Time: from the first step to the end of the last evaluation, all evaluations included. Set-up: all else of the process's
life, such as imports, data, profile or balancing, final weights. Device-seconds: devices held times seconds of that
time. Spreads are over seeds, comparisons between runs of the same seed. Memory: sum over the processes. A step: the
median, which says little where layers freeze meanwhile. Cut: layers of each stage, of the first seed's run.

torchgpipe starts one worker thread for each distinct device and takes all CPU devices for one, so its two stages go
forward in turn; backward is on one thread with a worker a stage, too, since autograd runs all CPU nodes in the thread
that calls it. Much of what is gained against it on CPUs is that. On GPUs it pipelines.

Plain PyTorch normalises over the batch of 128, DistributedDataParallel over 64 images, all pipelines over micro-batches
of 32. FreezePipe moves batch-norm's running statistics once a step, by all micro-batches; the other pipelines once a
micro-batch, so four times as fast. FreezePipe's worker brings tcmalloc, the peers have glibc's allocator. The cache
keeps outputs of the test set, too, which is evaluated every epoch.
"""


def write(rows, folder):
    groups = [Runs(rows, setting, layout) for setting in SETTINGS for layout in LAYOUTS
              if any(row["setting"] == setting and row["layout"] == layout for row in rows)]
    text = "\n".join(part for runs in groups for part in sections(runs)) + "\n" + NOTES + disturbed(rows)
    (folder / "report.md").write_text(text)
    (folder / "summary.json").write_text(json.dumps([summary(runs) for runs in groups], indent=1))
    for runs in groups:
        plots.times(runs, folder)
    plots.causes_of(groups, folder)
    print(text)
    print(f"Written to {folder}: report.md, summary.json, and plots as SVG and PNG")


def sections(runs):
    title = f"{runs.setting}, {runs.layout} layout"
    first = runs.rows(runs.engines()[0])[0]
    sizes, preset = first["sizes"], first["preset"]
    yield (f"## {title}\n\n{sizes[0]:,} training and {sizes[1]:,} test images, {sizes[2]} epochs, "
           f"freeze preset {preset}\n")
    builds = {row["build"] for name in ordered(runs) for row in runs.rows(name) if row.get("build")}
    if len(builds) > 1:
        yield f"FreezePipe was built anew between these runs: {', '.join(sorted(builds))}.\n"
    yield table(["engine", "time, s", "a step, ms", "evaluation, s", "set-up, s", "device-seconds", "CPU, s",
                 "memory, MB", "cut", "accuracy, %", "to `unfrozen`"], [measured(runs, name) for name in ordered(runs)])
    ours = [name for name in ordered(runs) if ENGINES[name].ours]
    peers = [name for name in PEERS if runs.rows(name)]
    if ours and peers:
        yield f"### {title}: less time than a peer, %\n"
        yield table(["engine", *peers, *(f"accuracy to {peer}" for peer in peers)],
                    [[f"`{name}`", *(shown(runs.less(name, peer)) for peer in peers),
                      *(shown(runs.more(name, peer), 2, "+") for peer in peers)] for name in ours])
    aimed = [[aim.what, f"`{name}`", f"{aim.percent(runs.setting):.0f} %", shown(less), met]
             for aim, name, less, met in judged(runs)]
    if aimed:
        yield f"### {title}: aims, % less\n"
        yield table(["", "engine", "aim", "measured", "met"], aimed)
    parts = causes(runs)
    if parts:
        yield f"### {title}: time less than `torchgpipe`, by cause\n"
        yield table(["cause", "percentage points"], [[cause, part.text(1, "+")] for cause, part in parts] +
                    [["together", f"{sum(part.mean for _, part in parts):+.1f}"]])


def ordered(runs):
    return [name for name in ENGINES if runs.rows(name)]


def measured(runs, name):
    def of(field, digits=1):
        return shown(runs.spread(name, field), digits)

    return [f"{ENGINES[name].title} (`{name}`)", of("train_seconds"), of("step_ms"), of("evaluation_seconds"),
            of("setup_seconds"), of("device_seconds", 0), of("cpu_seconds", 0), of("peak_rss_mb", 0),
            cut(runs.rows(name)[0]), of("accuracy", 2),
            "" if name == "unfrozen" else shown(runs.more(name, "unfrozen"), 2, "+")]


def cut(row):
    stages = "+".join(str(layers) for layers in row.get("stages", []))
    return f"{row['replicas']} x {stages}" if row.get("replicas", 1) > 1 else stages


def shown(spread, digits=1, sign=""):
    return spread.text(digits, sign) if spread else ""


def judged(runs):
    """(aim, engine, percent less, whether it is met) of what was run."""
    for aim in AIMS:
        for name in aim.engines:
            less = runs.less(name, aim.peer, aim.field)
            if less:
                yield aim, name, less, "yes" if less.mean >= aim.percent(runs.setting) else "no"


def disturbed(rows):
    found = [f"{row['setting']}, {row['layout']}, seed {row['seed']}, {row['engine']}" for row in rows
             if row["other_cpu_seconds"] > DISTURBED * row["wall_seconds"]]
    return f"\nOther programs used the processors in {len(found)} of {len(rows)} runs, whose times are doubtful: " + \
        "; ".join(found) + "\n" if found else ""


def table(header, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines) + "\n"


def summary(runs):
    fields = ["train_seconds", "step_ms", "evaluation_seconds", "setup_seconds", "device_seconds", "cpu_seconds",
              "peak_rss_mb", "accuracy"]

    def numbers(spread):
        return dataclasses.asdict(spread) if spread else None

    return {
        "setting": runs.setting,
        "layout": runs.layout,
        "engines": {name: {
            **{field: numbers(runs.spread(name, field)) for field in fields},
            "less_time_percent": {peer: numbers(runs.less(name, peer)) for peer in PEERS},
            "accuracy_difference": {peer: numbers(runs.more(name, peer)) for peer in [*PEERS, "unfrozen"]},
        } for name in ordered(runs)},
        "aims": [{"what": aim.what, "engine": name, "percent": aim.percent(runs.setting), "measured": numbers(less),
                  "met": met == "yes"} for aim, name, less, met in judged(runs)],
        "causes": [{"cause": cause, "percentage_points": numbers(part)} for cause, part in causes(runs)],
    }
