"""A project for Spark Declarative Pipelines with the same functions, for users who schedule with these pipelines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sdschat.audit.problem import PipelineProblem
from sdschat.audit.schemas import Journal, ddl
from sdschat.lake.places import PLACES
from sdschat.pipeline.lake import as_it_is

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_TEMPLATES: Final = Path(__file__).parent / "template"


def init_sdp(folder: Path, lake: str) -> list[Path]:
    """Write the project. Raises PipelineProblem if one of its files exists already."""
    written: list[Path] = []
    plan = [(source, folder / source.relative_to(_TEMPLATES)) for source in sorted(_TEMPLATES.rglob("*.tmpl"))]
    targets = [(source, target.with_suffix("")) for source, target in plan]
    for _, target in targets:
        if target.exists():
            raise PipelineProblem(f"{target} is there already. Name another folder, or move it away.", 2)
    values = {"@LAKE@": lake, "@STORAGE@": f"file://{folder.absolute()}/storage"}
    for source, target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_filled(source.read_text(encoding="utf-8"), values), encoding="utf-8")
        written.append(target)
    return written


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Insert the values in quotes that Python and YAML both can read, whatever the values contain."""
    for name, value in values.items():
        text = text.replace(name, json.dumps(value))
    return text


def journal(spark: SparkSession, lake: str) -> DataFrame:
    """Return all events of a lake, without a query: declarative pipelines forbid queries while they are built."""
    return spark.read.schema(ddl(Journal)).parquet(as_it_is(f"{lake}/{PLACES[Journal]}"))
