"""`python -m tests.pipeline.picture`: makes screenshots/report.png from eight nodes that talk with faults.

One of them stops in between and comes back. Afterwards one row of one database is altered and a message of another
deleted, as in the README. `--field DIR` uses the profiles of nodes that have already talked.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import tempfile
from pathlib import Path

from sdschat.cli.program import run
from sdschat.node.events import MessageDelivered
from sdschat.node.settings import Value
from tests.audit.field import change, nth
from tests.audit.test_report import WAIT, ask_browser
from tests.needs import needs_program
from tests.node.worlds import World

NAMES = ("ann", "bob", "cleo", "dan", "eve", "fay", "gus", "hal")
FAULTS: dict[str, Value] = {"fault.loss": 0.15, "fault.duplicate": 0.05, "fault.reorder": 0.1, "fault.delay": 300}
MESSAGES = 240
STOPS, COMES_BACK = 90, 160
SIZE = (1100, 1750)
TARGET = Path(__file__).resolve().parents[2] / "screenshots" / "report.png"


async def talk(folder: Path) -> None:
    world = World(folder)
    members = [world.start(name, changes=FAULTS | {"fault.seed": seed}) for seed, name in enumerate(NAMES)]
    for number in range(MESSAGES):
        if number == STOPS:
            await members.pop().node.close()
        elif number == COMES_BACK:
            members.append(world.start(NAMES[-1], changes=FAULTS | {"fault.seed": len(NAMES)}))
        members[number * 5 % len(members)].node.send("lobby", f"message {number}")
        await asyncio.sleep(0.1)
    async with asyncio.timeout(120):
        while any(len(member.of(MessageDelivered)) < MESSAGES for member in members[:-1]):
            await asyncio.sleep(0.2)
    await members[-1].until(MessageDelivered, lambda told: told.said.opened.text == f"message {MESSAGES - 1}")
    for member in members:
        await member.node.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--field", type=Path, help="a folder of profiles; it is copied")
    given = parser.parse_args().field
    browser = needs_program("chromium")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)  # so that the page contains no path of this machine
        field = Path("field")
        if given is not None:
            shutil.copytree(given, field)
        else:
            asyncio.run(talk(field))
        change(field, "dan", "DELETE FROM log WHERE place = ?", nth(field, "dan", 70)[0])
        change(field, "cleo", "UPDATE log SET lamport = lamport + 5000 WHERE place = ?", nth(field, "cleo", 40)[0])
        run(["audit", "field", "--report", "report.html"])
        ask_browser(
            browser,
            Path(place) / "browser",
            "--hide-scrollbars",
            *WAIT,
            f"--window-size={SIZE[0]},{SIZE[1]}",
            f"--screenshot={TARGET}",
            (Path(place) / "report.html").as_uri(),
        )


if __name__ == "__main__":
    main()
