"""Themes of the user: a file `themes/NAME.toml` for each, beside `tui.toml`.

base = "dark"                        # the theme that has everything this file leaves out
nicks = ["#7aa2f7", "#9ece6a"]       # without it colours that are read well on the background
[screen]                             # colours of the parts of the screen
background = "#101418"
[log]                                # colours of the lines of the log, also with bold, italic, underline, reverse
mention = "bold #ffd479"
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from rich.errors import StyleSyntaxError
from rich.style import Style

from sdschat.node.view.values import TomlError, read_toml
from sdschat.tui.themes import AUTO, PALETTES, READABLE, Colour, Palette, contrast, hues_on, is_light

_MOST: Final = 50  # files
_LARGEST: Final = 64 * 1024  # bytes
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}")
_COLOUR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_SCREEN: Final = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_BASES: Final = ("dark", "light", "contrast")
_MOST_NICKS: Final = 64
_ENOUGH: Final = {"id": 3.0}  # ids stand back: they are read when they are looked for
_NO_TEXT: Final = ("chosen", "action")  # styles that are laid over others


class ThemeError(ValueError):
    """A file is no theme. The text says why, and what is possible."""


def load_themes(folder: Path) -> tuple[dict[str, Palette], dict[str, str]]:
    """Return the themes of a folder by name, and the problems of files by name: of those that cannot be used, and of
    colours that are hard to read."""
    found: dict[str, Palette] = {}
    problems: dict[str, str] = {}
    try:
        files = sorted(folder.glob("*.toml"))[:_MOST]
    except OSError:
        return {}, {}
    for file in files:
        try:
            found[file.stem] = palette = _load(file)
        except (TomlError, ThemeError) as error:
            problems[file.stem] = f"{file} is not used as a theme: {error}"
            continue
        if poor := _hard_to_read(file.stem, palette):
            problems[file.stem] = poor
    return found, problems


def _load(file: Path) -> Palette:
    if not _NAME.fullmatch(file.stem) or file.stem in (AUTO, *PALETTES):
        raise ThemeError("its name has to be another than those that are there, of small letters, digits, - and _")
    values = read_toml(file, _LARGEST)
    base = values.pop("base", "dark")
    if base not in _BASES:
        raise ThemeError(f"base is {base!r}, and must be one of {', '.join(_BASES)}")
    screen, log = _table(values, "screen"), _table(values, "log")
    nicks = values.pop("nicks", None)
    if values:
        raise ThemeError(f"it has {sorted(values)[0]!r}; there are base, nicks, [screen] and [log]")
    before = PALETTES[base]
    colours: dict[str, Any] = {name: _colour(name, value) for name, value in _known("screen", screen, _SCREEN)}
    background = _parts(colours.get("background", before.theme.background or "#000000"))
    theme = replace(before.theme, name=f"own-{file.stem}", dark=not is_light(background), **colours)
    styles = {name: _style(name, value) for name, value in _known("log", log, tuple(before.styles))}
    return Palette(theme, {**before.styles, **styles}, _nicks(nicks, background))


def _table(values: dict[str, Any], name: str) -> Mapping[str, Any]:
    found = values.pop(name, {})
    if not isinstance(found, dict):
        raise ThemeError(f"{name} has to be a table: [{name}]")
    return found


def _known(table: str, values: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name not in names:
            raise ThemeError(f"[{table}] has {name!r}; there are {', '.join(names)}")
        yield name, value


def _colour(name: str, value: object) -> str:
    if not isinstance(value, str) or not _COLOUR.fullmatch(value):
        raise ThemeError(f"{name} is {value!r}, and must be a colour such as '#7aa2f7'")
    return value


def _parts(colour: str) -> Colour:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _style(name: str, value: object) -> Style:
    try:
        if not isinstance(value, str):
            raise StyleSyntaxError
        return Style.parse(value)
    except StyleSyntaxError:
        raise ThemeError(f"{name} is {value!r}, and must be a style such as 'bold #ffd479'") from None


def _nicks(given: object, background: Colour) -> tuple[Style, ...]:
    if given is None:
        return hues_on(background)
    if not isinstance(given, list) or not 1 <= len(given) <= _MOST_NICKS:
        raise ThemeError(f"nicks has to be a list of 1 to {_MOST_NICKS} colours")
    return tuple(Style.parse(_colour("a colour of nicks", each)) for each in given)


def _hard_to_read(name: str, palette: Palette) -> str:
    """Return a line about the colours that have too little contrast with the background; empty if there are none."""
    background = _parts(palette.theme.background or "#000000")
    lines = {f"nick {number}": style for number, style in enumerate(palette.nicks, 1)}
    lines |= {each: style for each, style in palette.styles.items() if each not in _NO_TEXT}
    measured = {
        each: contrast(style.color.get_truecolor(), background)
        for each, style in lines.items()
        if style.color is not None and not style.reverse
    }
    poor = sorted((value, each) for each, value in measured.items() if value < _ENOUGH.get(each, READABLE))
    named = ", ".join(f"{each} ({value:.1f})" for value, each in poor[:6])
    return f"theme {name}: hard to read on its background: {named}; {READABLE:g} is well read" if poor else ""
