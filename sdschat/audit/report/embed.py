"""Pictures in a page that needs no network: the specifications as JSON, and the runtime of Vega-Lite once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import altair as alt
import vl_convert

from sdschat.audit.report import PAGE_START
from sdschat.audit.report.data import escaped

Picture = Any  # a chart of Altair, whose methods have no types
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
# Nothing is loaded from anywhere, whatever a text in the page says. Vega makes functions of its expressions.
POLICY: Final = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def document(title: str, body: str, drawn: Pictures) -> str:
    return (
        f"{PAGE_START}<title>{escaped(title)}</title>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>\n{_file('page.css')}</style></head>\n<body><main>{body}</main>{drawn.scripts()}</body></html>\n"
    )


def _file(name: str) -> str:
    return files("sdschat.audit.report").joinpath(name).read_text("utf-8")


def svg(chart: Picture) -> str:
    found: str = vl_convert.vegalite_to_svg(described(chart))
    return found


def data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Return rows for a picture. As text Altair neither checks nor copies each of them; `described` undoes it."""
    return alt.InlineData(values=json.dumps(list(rows)))


def described(chart: Picture) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    spec["datasets"] = {name: json.loads(rows) for name, rows in spec.get("datasets", {}).items()}
    return spec


def as_json(value: Any) -> str:
    """Return JSON that ends no element of a page, whatever texts are in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character, written in _ESCAPED.items():
        text = text.replace(character, written)
    return text


class Pictures:
    """Gives each picture of a page its place."""

    def __init__(self, cache: Path | None = None) -> None:
        """Begin. `cache`: a folder for what draws the pictures, which takes two seconds to make and seldom changes."""
        self._specs: list[str] = []
        self._cache = cache

    def place(self, chart: Picture) -> str:
        spec = described(chart)
        spec.pop("config", None)
        name = f"picture-{len(self._specs)}"
        self._specs.append(f'<script type="application/json" id="{name}">{as_json(spec)}</script>')
        return f'<div class="picture" data-picture="{name}"></div>'

    def scripts(self) -> str:
        """Return what draws them. A page without pictures needs nothing."""
        if not self._specs:
            return ""
        return "".join(self._specs) + f"<script>{runtime(self._cache)}\n{_file('draw.js')}</script>"


def runtime(cache: Path | None) -> str:
    """Return Vega-Lite's runtime, kept in this folder if there is one. A kept one that is not whole is made anew."""
    if cache is None:
        return _bundle()
    name = f"vega-{version('vl-convert-python')}"
    for file in cache.glob(f"{name}-*.js"):
        text = file.read_text("utf-8", errors="replace")
        if file.stem.endswith(f"-{_digest(text)}"):
            return text
    text = _bundle()
    with suppress(OSError):  # a report needs no cache
        cache.mkdir(parents=True, exist_ok=True)
        fresh = cache / f".{os.getpid()}"
        fresh.write_text(text, "utf-8")
        fresh.replace(cache / f"{name}-{_digest(text)}.js")
    return text


def _bundle() -> str:
    made: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub lacks the default
    return made


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
