"""Automerge and Autobase, measured by scripts beside this file under Node.js."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.timber.bench.posts import AWAY, AWAY_AMONG, ROUND, Figures, Sample

HERE: Final = Path(__file__).parent
SCRIPTS: Final = {"Automerge": "automerge.mjs", "Autobase": "autobase.mjs"}


def missing() -> str:
    """Return what is not there, or an empty text."""
    if shutil.which("node") is None:
        return "Node.js is not there"
    if not (HERE / "node_modules").exists():
        return f"its packages are not there: npm install --prefix {HERE.relative_to(Path.cwd())}"
    return ""


def measure(name: str, posts: Sample) -> Figures:
    with TemporaryDirectory() as folder:
        task = Path(folder) / "posts.json"
        deleted = {str(share): gone for share, gone in posts.deleted.items()}
        searched = {str(share): [one.decode() for one in posts.searched(share)] for share in posts.deleted}
        alive = {str(share): posts.alive_bytes(share) for share in posts.deleted}
        bounds = {"round": ROUND, "away": AWAY, "awayAmong": AWAY_AMONG}
        said = {"texts": posts.texts, "deleted": deleted, "searched": searched, "alive": alive, **bounds}
        task.write_text(json.dumps(said))
        command = ["node", str(HERE / SCRIPTS[name]), str(task), folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return Figures(name, len(posts.texts), notes=[f"ended with: {done.stderr.strip().splitlines()[-1:]}"])
        answer = json.loads(done.stdout)
    figures = Figures(name, len(posts.texts), answer["append"], answer["merge"], answer["exchanged"])
    figures.stored = {int(share): value for share, value in answer["stored"].items()}
    figures.found = {int(share): value for share, value in answer["found"].items()}
    figures.away = answer["away"]
    return figures
