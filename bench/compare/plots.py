"""Bars of seconds by engine, labelled with accuracies, and stacked bars of what the saved time comes from."""

import matplotlib

matplotlib.use("Agg")  # there is no screen
from matplotlib import pyplot

from causes import CHAIN, causes
from engines import ENGINES

PEER_COLOR, OWN_COLOR, CONTROL_COLOR = "#9aa5b1", "#2f6f9f", "#c9a227"


def save(figure, folder, name):
    for kind in ("svg", "png"):
        figure.savefig(folder / f"{name}.{kind}", dpi=120)
    pyplot.close(figure)


def color(name):
    engine = ENGINES[name]
    if engine.title.startswith("control"):
        return CONTROL_COLOR
    return OWN_COLOR if engine.ours else PEER_COLOR


def times(runs, folder):
    names = [name for name in ENGINES if runs.rows(name)][::-1]
    spreads = [runs.spread(name, "train_seconds") for name in names]
    figure, axes = pyplot.subplots(figsize=(10, 1 + 0.42 * len(names)), layout="constrained")
    errors = [[s.mean - s.low for s in spreads], [s.high - s.mean for s in spreads]]
    axes.barh([ENGINES[name].title for name in names], [s.mean for s in spreads], xerr=errors, capsize=3,
              color=[color(name) for name in names])
    for place, (name, spread) in enumerate(zip(names, spreads)):
        axes.text(spread.high, place, f"  {spread.mean:.0f} s, {runs.spread(name, 'accuracy').mean:.1f} %", va="center")
    axes.set_xlim(0, 1.2 * max(s.high for s in spreads))
    axes.set_xlabel("seconds of training and evaluation (mean and range over seeds), test accuracy")
    axes.set_title(f"{runs.setting}, {runs.layout} layout")
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, folder, f"time-{runs.setting}-{runs.layout}")


def causes_of(groups, folder):
    """One bar for each setting."""
    groups = [runs for runs in groups if causes(runs)]
    if not groups:
        return
    figure, axes = pyplot.subplots(figsize=(11, 1.8 + 0.8 * len(groups)), layout="constrained")
    palette = dict(zip([cause for _, cause in CHAIN[1:]], pyplot.get_cmap("tab10").colors))
    for runs in groups[::-1]:  # bars are drawn from the bottom up
        # What costs time goes to the left of 0.
        ends = {True: 0.0, False: 0.0}
        for cause, part in causes(runs):
            side = part.mean >= 0
            axes.barh(runs.setting, part.mean, left=ends[side], color=palette[cause])
            if abs(part.mean) >= 3:
                axes.text(ends[side] + part.mean / 2, runs.setting, f"{part.mean:.0f}", ha="center", va="center",
                          color="white")
            ends[side] += part.mean
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=color) for color in palette.values()]
    figure.legend(handles, palette, loc="outside lower center", ncols=2, frameon=False)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("less time than torchgpipe's default, percentage points")
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, folder, "causes")
