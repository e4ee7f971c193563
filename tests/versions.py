"""Run the golden vectors with the lowest and the highest versions that `pyproject.toml` allows.

`python -m tests.versions`. The two environments stay in `.versions/`, and are made anew when the versions change.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / ".versions"
RUNNER: Final = ("pytest", "pytest-timeout", "hypothesis")  # what tests/conftest.py and the settings of pytest ask for
TESTS: Final = ("tests/vectors", "tests/identity/test_vectors.py", "tests/test_versions.py")
_LOWEST: Final = re.compile(r">=\s*([0-9.]+)")


def dependencies(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """The run-time dependencies, as they are written there."""
    found: list[str] = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["dependencies"]
    return found


def name_of(dependency: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", dependency.strip())[0]


def lowest(dependency: str) -> str:
    """A dependency at the first version that it allows. Raises ValueError where it names none."""
    bound = _LOWEST.search(dependency)
    if bound is None:
        raise ValueError(f"{dependency} has no lower bound in pyproject.toml: write one, as in mmh3>=5")
    return f"{name_of(dependency)}=={bound[1]}"


def wanted() -> dict[str, list[str]]:
    return {"lowest": [*map(lowest, dependencies()), *RUNNER], "highest": [*dependencies(), *RUNNER]}


def prepare(folder: Path, requirements: list[str]) -> Path:
    """An environment with these, and its Python."""
    python, note = folder / "bin" / "python", folder / "requirements.txt"
    text = "".join(f"{line}\n" for line in [sys.version.split()[0], *requirements])
    same = note.exists() and note.read_text() == text
    if not same:
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check"]
    newest = ["--upgrade"] if "==" not in requirements[0] else []  # those may have appeared since
    if newest or not same:
        subprocess.run([*pip, "install", *newest, *requirements], check=True)
        subprocess.run([*pip, "check"], check=True)
        note.write_text(text)
    return python


def versions(python: Path) -> list[str]:
    """The run-time dependencies as they are installed."""
    names = [name_of(dependency) for dependency in dependencies()]
    asked = "import sys, importlib.metadata as m; print(*(f'{name}=={m.version(name)}' for name in sys.argv[1:]))"
    return subprocess.run([python, "-c", asked, *names], check=True, capture_output=True, text=True).stdout.split()


def run(python: Path) -> None:
    """The tests, and the program."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for command in (
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        ["-m", "sdschat", "--help"],
    ):
        done = subprocess.run([python, *command], cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{done.stdout}{done.stderr}\n{python} {' '.join(command)} ended with {done.returncode}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--only", choices=list(wanted()), help="one of the two")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the environments are kept")
    chosen = parser.parse_args()
    for name, requirements in wanted().items():
        if chosen.only not in (None, name):
            continue
        try:
            python = prepare(chosen.folder / name, requirements)
        except subprocess.CalledProcessError as error:
            sys.exit(f"The {name} versions cannot be installed: {error}")
        run(python)
        print(f"{name}: all well with {' '.join(versions(python))}")


if __name__ == "__main__":
    main()
