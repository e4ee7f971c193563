"""A project for Spark Declarative Pipelines over the same functions, for whoever schedules with them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sdschat.pipeline.problem import PipelineProblem

_TEMPLATES: Final = Path(__file__).parent / "template"


def init_sdp(folder: Path, lake: str) -> list[Path]:
    """Write the project. Raises PipelineProblem where a file of it is there already."""
    written: list[Path] = []
    plan = [(source, folder / source.relative_to(_TEMPLATES)) for source in sorted(_TEMPLATES.rglob("*.tmpl"))]
    targets = [(source, target.with_suffix("")) for source, target in plan]
    for _, target in targets:
        if target.exists():
            raise PipelineProblem(f"{target} is there already. Name another folder, or move it away.", 2)
    for source, target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text(encoding="utf-8").replace("@LAKE@", lake).replace("@STORAGE@", str(folder.absolute()))
        target.write_text(text, encoding="utf-8")
        written.append(target)
    return written
