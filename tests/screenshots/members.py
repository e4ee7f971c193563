"""Write the picture of three members, of whom one was voted out: `python -m tests.screenshots.members [FILE]`."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path
from typing import Final

from sdschat.cli.demo import QUICK
from sdschat.node.settings import make_settings
from sdschat.node.tasks import start
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.theatre.members import MembersGroup
from sdschat.tui.theatre.members_app import MembersApp
from tests.screenshots.pictures import svg_of

FILE: Final = Path(__file__).resolve().parents[2] / "screenshots" / "members.svg"
_SIZE: Final = (120, 30)
_PATIENCE: Final = 120.0  # seconds


async def picture(folder: Path) -> str:
    """Play until somebody was put out, and return what is seen then."""
    watched = MembersGroup(LocalGroup(folder, make_settings(QUICK, "demo"), "garden"), folder)
    await watched.open()
    try:
        app = MembersApp(watched)
        async with app.run_test(size=_SIZE) as pilot:
            tasks = [start(app.player.play(), app.fail), start(app.search_on(), app.fail)]
            async with asyncio.timeout(_PATIENCE):
                while "ann and bob, two of three" not in str(app.told.render()):
                    await pilot.pause(0.2)
            await pilot.pause(2.5)  # they go on
            app.draw()
            await pilot.pause()
            svg = svg_of(app, "sdschat demo --members")
            for task in tasks:
                task.cancel()
        return svg
    finally:
        await watched.close()


def main() -> None:
    asked = argparse.ArgumentParser(prog="python -m tests.screenshots.members", description=__doc__)
    asked.add_argument("file", type=Path, nargs="?", default=FILE)
    file = asked.parse_args().file
    with tempfile.TemporaryDirectory() as folder:
        svg = asyncio.run(picture(Path(folder)))
    file.write_text(svg, encoding="utf-8")
    print(f"{file}: {len(svg):,} bytes")


if __name__ == "__main__":
    main()
