"""Runs of several seeds set beside each other. Two engines are compared by seeds that both have: a pair shares weights,
batches and the time of day."""

import dataclasses
import statistics

from engines import CONTIGUOUS_AT_BEST


@dataclasses.dataclass(frozen=True)
class Spread:
    mean: float
    low: float
    high: float
    count: int

    @staticmethod
    def of(values):
        values = list(values)
        return Spread(statistics.mean(values), min(values), max(values), len(values)) if values else None

    def text(self, digits=1, sign=""):
        mean = f"{self.mean:{sign}.{digits}f}"
        if self.count == 1:
            return mean
        return f"{mean} ({self.low:{sign}.{digits}f} to {self.high:{sign}.{digits}f})"


class Runs:
    """All runs of one setting and layout."""

    def __init__(self, rows, setting, layout):
        self.setting, self.layout = setting, layout
        self._by_engine = {}
        for row in rows:
            if row["setting"] == setting and (row["layout"] == layout or row["engine"] in CONTIGUOUS_AT_BEST):
                self._by_engine.setdefault(row["engine"], {})[row["seed"]] = row

    def engines(self):
        return list(self._by_engine)

    def rows(self, engine):
        return list(self._by_engine.get(engine, {}).values())

    def spread(self, engine, field):
        return Spread.of(row[field] for row in self.rows(engine) if row.get(field) is not None)

    def pairs(self, engine, other):
        mine, others = self._by_engine.get(engine, {}), self._by_engine.get(other, {})
        return [(mine[seed], others[seed]) for seed in sorted(mine) if seed in others]

    def less(self, engine, other, field="train_seconds"):
        """Percent less than the other, by pairs."""
        return Spread.of(100 * (1 - a[field] / b[field]) for a, b in self.pairs(engine, other))

    def more(self, engine, other, field="accuracy"):
        return Spread.of(a[field] - b[field] for a, b in self.pairs(engine, other))
