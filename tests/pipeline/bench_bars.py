"""Measured values, compared with their bars."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

# Each number: the subject of the bar, and the command that measures it, if this benchmark does not.
ABOUT: Final = {
    1: "import, doctor; a fresh environment without Java: python -m tests.pipeline.fresh",
    2: "a session: plain, after warmup, on a Connect server that runs",
    3: "tests: pytest tests/pipeline -p no:xdist --durations=0",
    4: "conform to silver, and its size",
    5: "fingerprints, an audit with few differences, one from stored fingerprints",
    6: "100,000,000 rows: python -m tests.lake.measure --rows 100000000",
    7: "percentiles of latency; equal to SQLite: pytest tests/pipeline/test_equal_on_spark.py",
    8: "taking databases and journals in; killed on the way: python -m tests.lake.stream_kills",
    9: "the stream: --only stream",
    10: "simulations: --only simulation",
    11: "the archive: --only archive",
    12: "a small audit without Spark",
}


class Bar(NamedTuple):
    """A limit for a measured value: an upper one, or with `least` a lower one."""

    number: int
    limit: float
    unit: str = "s"
    least: bool = False

    def met(self, value: float) -> bool:
        return value >= self.limit if self.least else value <= self.limit

    def __str__(self) -> str:
        return f"bar {self.number}: at {'least' if self.least else 'most'} {self.limit:,g} {self.unit}"


class Bars:
    """The results. Each is printed at once; the summary tells which bars are met. A call times a block of code."""

    def __init__(self) -> None:
        self._verdicts: dict[int, list[bool]] = {}

    @contextmanager
    def __call__(self, what: str, engine: str, rows: int = 0, bar: Bar | str | None = None) -> Iterator[None]:
        began = time.perf_counter()
        yield
        seconds = time.perf_counter() - began
        speed = f"{rows / seconds:12,.0f} rows/s" if rows else ""
        rate = isinstance(bar, Bar) and bar.unit == "rows/s"
        self._line(what, engine, f"{seconds:10.3f} s", speed, bar, rows / seconds if rate else seconds)

    def tell(self, what: str, engine: str, value: float, unit: str, bar: Bar | None = None) -> None:
        """Report a value that was measured in another way."""
        self._line(what, engine, f"{value:10,.3f} {unit}", "", bar, value)

    def _line(self, what: str, engine: str, shown: str, speed: str, bar: Bar | str | None, value: float) -> None:
        told = str(bar or "")
        if isinstance(bar, Bar):
            met = bar.met(value)
            self._verdicts.setdefault(bar.number, []).append(met)
            told += f", {'met' if met else 'MISSED'}"
        print(f"{what:58} {engine:18} {shown:16} {speed:19} {told}", flush=True)

    def summary(self) -> Iterator[str]:
        for number, about in ABOUT.items():
            verdicts = self._verdicts.get(number)
            word = "not run" if verdicts is None else "met" if all(verdicts) else "MISSED"
            some = "" if not verdicts or all(verdicts) else f" ({verdicts.count(True)} of {len(verdicts)} met)"
            yield f"bar {number:2} {word:8} {about}{some}"
