"""A training run: all work of the pipeline on very few rows, so that its classes get into the class archive."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from sdschat.pipeline.session.spark_target import SparkTarget
from sdschat.pipeline.session.start import spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_AT: Final = 1_750_000_000_000
_UNRELIABLE: Final = "by=engine participants=3 messages=3 loss=0.5 repair=false push=false tail=300000 journal=true"


def work(session: SparkSession, folder: Path) -> None:
    """Make a lake of a simulated group, whose verdict is that messages are missing."""
    from sdschat.experiment.grid.gridfile import Run
    from sdschat.experiment.runs import JOURNALS, figures_for, setting_from
    from sdschat.lake import judge
    from sdschat.lake.figures import measure, report_data
    from sdschat.lake.ingest import ingest
    from sdschat.pipeline.lake import Lake

    figures_for(Run(setting_from(tuple(_UNRELIABLE.split())), 0), folder)
    lake = Lake(session, str(folder / "lake"))
    ingest(lake.tables, list((folder / JOURNALS).iterdir()), "training", _AT)
    judge.refine(lake)
    judge.consolidate(lake)
    judge.audit(lake)
    report_data(lake, lake.tables.root, measure(lake, keep=True), _AT)


def main(folder: str) -> None:
    with TemporaryDirectory() as scratch, spark(SparkTarget("local[2]", cache=Path(folder))) as session:
        work(session, Path(scratch))


if __name__ == "__main__":
    main(sys.argv[1])
