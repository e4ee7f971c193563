"""A project for Spark Declarative Pipelines with the same statements, for users who schedule with these pipelines."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession

from sdschat.audit.errors import PipelineProblem
from sdschat.audit.schemas import AuditJournal, Event
from sdschat.audit.statements import statements
from sdschat.audit.verdict import DEFAULT
from sdschat.lake.engine import READ_BY_AUDIT
from sdschat.lake.judge import SILVER, rule_query
from sdschat.lake.tables import Tables
from sdschat.pipeline.lake import table_rows

_TEMPLATES: Final = Path(__file__).parent / "template"


def init_sdp(folder: Path, lake: str) -> list[Path]:
    """Write the project. Raises PipelineProblem if one of its files exists already."""
    sources = sorted(_TEMPLATES.rglob("*.tmpl"))
    targets = [(folder / source.relative_to(_TEMPLATES)).with_suffix("") for source in sources]
    for target in targets:
        if target.exists():
            raise PipelineProblem(f"{target} is there already. Name another folder, or move it away.", 2)
    storage = f"file://{folder.absolute()}/storage"
    for source, target in zip(sources, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8")  # quotes of JSON can be read by Python and YAML, whatever is in them
        text = text.replace("@LAKE@", json.dumps(lake)).replace("@STORAGE@", json.dumps(storage))
        target.write_text(text, encoding="utf-8")
    return targets


def define(lake: str) -> None:
    """Define silver of a lake as materialized views, by the statements that `sdschat pipeline audit` runs."""
    from pyspark import pipelines as dp

    tables = Tables(lake)
    for table, name in READ_BY_AUDIT.items():
        dp.temporary_view(name=f"bronze_{name}")(functools.partial(_rows, table, tables.files(table)))
    for table, name in ((Event, "kept_event"), (AuditJournal, "old_journal")):  # every channel is made anew
        dp.temporary_view(name=name)(functools.partial(_rows, table, []))
    dp.temporary_view(name="rule")(functools.partial(_asked, rule_query(DEFAULT)))
    for name, query, is_table in (each for named in SILVER for each in statements(*named)):
        kind = dp.materialized_view if is_table else dp.temporary_view
        kind(name=name)(functools.partial(_asked, query))


def _rows(table: type, files: list[str]) -> DataFrame:
    return table_rows(SparkSession.active(), table, files)


def _asked(query: str) -> DataFrame:
    return SparkSession.active().sql(query)
