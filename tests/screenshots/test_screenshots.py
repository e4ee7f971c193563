"""The pictures can be made and show their texts. Pixels are not compared."""

from __future__ import annotations

import asyncio
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sdschat.tui.app import ChatApp
from tests.needs import needs_module
from tests.screenshots.__main__ import FOLDER
from tests.screenshots.overlays import SIZES, take
from tests.screenshots.pictures import write
from tests.screenshots.scenes import SCENES, take_all


def words_of(svg: Path) -> str:
    return "".join(ElementTree.parse(svg).getroot().itertext()).replace("\xa0", " ")


@pytest.mark.timeout(300)
def test_all_pictures_are_made_and_show_what_they_are_for(tmp_path: Path) -> None:
    needs_module("iotcore")
    folder = tmp_path / "pictures"
    folder.mkdir()

    def shoot(name: str, app: ChatApp) -> None:
        write(folder, name, app)

    asyncio.run(take_all(tmp_path / "profiles", shoot))
    assert {path.stem for path in folder.glob("*.svg")} == set(SCENES)
    for name, scene in SCENES.items():
        words = words_of(folder / f"{name}.svg")
        assert all(text in words for text in scene.expected), (name, scene.expected)
        assert "@font-face" not in words


@pytest.mark.parametrize("name", SCENES)
def test_the_pictures_of_the_readme_are_there_and_fetch_nothing(name: str) -> None:
    svg = FOLDER / f"{name}.svg"
    assert all(text in words_of(svg) for text in SCENES[name].expected)
    assert "url(http" not in svg.read_text(encoding="utf-8")


def test_sheets_and_overlays_fit_every_size(tmp_path: Path) -> None:
    folder = tmp_path / "overlays"
    folder.mkdir()
    asyncio.run(take(tmp_path / "profiles", folder, "plain", ["members", "selected"]))
    for width, height in SIZES:
        lines = (folder / f"members-{width}x{height}-plain.txt").read_text(encoding="utf-8").splitlines()
        assert len(lines) == height
        assert max(map(len, lines)) <= width
        assert any("4 here" in line for line in lines)
        assert (folder / f"selected-{width}x{height}-plain.svg").exists()
