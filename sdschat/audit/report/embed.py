"""Pictures in a page that needs no network: the specifications as JSON, and the runtime of Vega-Lite once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import altair as alt
import vl_convert

from sdschat.audit.report.start import PAGE_START

Picture = Any  # a chart of Altair, whose methods have no types
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
# Nothing is loaded from anywhere, whatever a text in the page says. Vega makes functions of its expressions.
POLICY: Final = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"
_DRAW: Final = """
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const draw = () => {
    const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue(name).trim();
    const text = {labelColor: of("--soft"), titleColor: of("--soft")};
    const config = {
      background: "transparent", view: {stroke: of("--line")}, font: "system-ui, sans-serif",
      axis: {...text, gridColor: of("--line"), domainColor: of("--line"), tickColor: of("--line")},
      legend: text,
      title: {
        color: of("--ink"), subtitleColor: of("--soft"), anchor: "start", frame: "group", fontSize: 13, fontWeight: 600,
      },
      text: {color: of("--ink")}, rule: {color: of("--soft")},
    };
    const shown = {actions: false, renderer: "svg", tooltip: {theme: dark.matches ? "dark" : "light"}};
    for (const place of document.querySelectorAll("[data-picture]")) {
      const spec = JSON.parse(document.getElementById(place.dataset.picture).textContent);
      spec.config = config;
      vegaEmbed(place, spec, shown).then(() => place.dataset.drawn = "yes").catch(problem => {
        place.textContent = `This picture cannot be drawn: ${problem.message}. The tables below have its figures.`;
      });
    }
  };
  dark.addEventListener("change", draw);
  draw();
})();
"""
CSS: Final = """
:root { color-scheme: light dark; --page:#f6f7f9; --card:#fff; --ink:#16202c; --soft:#5d6b7a; --line:#e3e7ec;
  --good:#137a4d; --good-soft:#e2f4ea; --bad:#c0332b; --bad-soft:#fcebe9 }
@media (prefers-color-scheme: dark) { :root { --page:#0f141a; --card:#171e26; --ink:#e8edf2; --soft:#93a1b0;
  --line:#27313c; --good:#5fd39c; --good-soft:#12301f; --bad:#ff8d80; --bad-soft:#3a1815 } }
* { box-sizing: border-box }
body { margin:0; background:var(--page); color:var(--ink); font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;
  font-variant-numeric: tabular-nums }
main { max-width: 1040px; margin: 0 auto; padding: 40px 24px 64px }
.kicker { color:var(--soft); letter-spacing:.08em; text-transform:uppercase; font-size:12px; margin:0 0 10px }
h1 { font-size:29px; line-height:1.25; margin:0 0 8px; font-weight:650; text-wrap:balance }
h2 { font-size:18px; margin:0 0 2px; font-weight:620 }
h3 { font-size:22px; margin:44px 0 14px }
p.note { color:var(--soft); margin:0 0 16px; max-width:78ch }
.verdict { border-left:6px solid var(--good); padding:2px 0 2px 20px; margin-bottom:28px }
.verdict.bad { border-color:var(--bad) }
.pill { display:inline-block; border-radius:99px; padding:2px 12px; font-size:13px; font-weight:600;
  background:var(--good-soft); color:var(--good) }
.bad .pill, .pill.bad { background:var(--bad-soft); color:var(--bad) }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(124px,1fr)); gap:12px; margin:0 0 24px }
.tile, section { background:var(--card); border:1px solid var(--line); border-radius:12px }
.tile { padding:14px 16px }
.tile b { display:block; font-size:21px; font-weight:620; line-height:1.3; white-space:nowrap }
.tile span { color:var(--soft); font-size:13px }
section { padding:22px 24px; margin:0 0 18px; break-inside:avoid }
section { overflow-x:auto } .picture { min-height:20px }
.legend { color:var(--soft); font-size:13px; margin:10px 0 0; display:flex; gap:18px; flex-wrap:wrap }
.legend i { display:inline-block; width:11px; height:11px; border-radius:3px; margin-right:6px }
.scroll { overflow-x:auto }
.plots { display:flex; flex-wrap:wrap; gap:18px } summary { color:var(--soft); cursor:pointer }
table { border-collapse:collapse; width:100%; font-size:13.5px }
th { text-align:left; color:var(--soft); font-weight:500; border-bottom:1px solid var(--line); padding:6px 14px 6px 0 }
td { border-bottom:1px solid var(--line); padding:6px 14px 6px 0; vertical-align:top }
td.n, th.n { text-align:right } tr:last-child td { border-bottom:0 }
code { font:12.5px ui-monospace,SFMono-Regular,Menlo,monospace; overflow-wrap:anywhere }
#vg-tooltip-element table { width:auto } #vg-tooltip-element td { border:0; padding:1px 6px 1px 0 }
td .t, td code.id { white-space:nowrap }
dl { display:grid; grid-template-columns:max-content 1fr; gap:4px 20px; margin:0; font-size:13.5px }
dt { color:var(--soft) } dd { margin:0; overflow-wrap:anywhere }
footer { color:var(--soft); font-size:13px; margin-top:28px }
@media print { :root { --page:#fff; --card:#fff } main { padding:0; max-width:none } section,.tile { border-color:#ccc }
  h3 { break-after:avoid } * { print-color-adjust:exact } }
"""


def document(title: str, body: str, drawn: Pictures) -> str:
    """Return a page as one self-contained file, with these pictures."""
    return (
        f"{PAGE_START}<title>{escape(title)}</title>"
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<style>{CSS}</style></head>\n<body><main>{body}</main>{drawn.scripts()}</body></html>\n"
    )


def svg(chart: Picture) -> str:
    """Return a picture that stands alone."""
    found: str = vl_convert.vegalite_to_svg(described(chart))
    return found


def data(rows: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Return rows for a picture. As text Altair neither checks nor copies each of them; `described` undoes it."""
    return alt.InlineData(values=json.dumps(list(rows)))


def described(chart: Picture) -> dict[str, Any]:
    """Return the picture as Vega-Lite describes it."""
    spec: dict[str, Any] = chart.to_dict()
    spec["datasets"] = {name: json.loads(rows) for name, rows in spec.get("datasets", {}).items()}
    return spec


def as_json(value: Any) -> str:
    """Return JSON that ends no element of a page, whatever texts are in it."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    for character, escaped in _ESCAPED.items():
        text = text.replace(character, escaped)
    return text


class Pictures:
    """Gives each picture of a page its place."""

    def __init__(self, cache: Path | None = None) -> None:
        """Begin. `cache`: a folder for what draws the pictures, which takes two seconds to make and seldom changes."""
        self._specs: list[str] = []
        self._cache = cache

    def place(self, chart: Picture) -> str:
        """Return the element in which this picture is drawn."""
        spec = described(chart)
        spec.pop("config", None)
        name = f"picture-{len(self._specs)}"
        self._specs.append(f'<script type="application/json" id="{name}">{as_json(spec)}</script>')
        return f'<div class="picture" data-picture="{name}"></div>'

    def scripts(self) -> str:
        """Return what draws them. A page without pictures needs nothing."""
        if not self._specs:
            return ""
        return "".join(self._specs) + f"<script>{runtime(self._cache)}{_DRAW}</script>"


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
