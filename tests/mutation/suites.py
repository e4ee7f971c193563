"""The tests that are run for a mutation, and their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple


class Suite(NamedTuple):
    """The tests of a package: folders, then files that run after them."""

    package: str
    tests: tuple[str, ...]
    last: tuple[str, ...] = ()


SUITES: Final = (
    Suite("sdschat/sds", ("tests/sds", "tests/spec", "tests/vectors/test_filters.py"), ("tests/sim/test_seeds.py",)),
    Suite("sdschat/mvds", ("tests/mvds", "tests/vectors/test_mvds.py")),
    Suite("sdschat/catchup", ("tests/catchup", "tests/vectors/test_catchup.py")),
    Suite("sdschat/wire", ("tests/wire", "tests/vectors")),
    Suite("sdschat/transport", ("tests/transport",)),
    Suite(
        "sdschat/store",
        (
            "tests/store",
            "tests/vectors/test_names.py",
            "tests/storenode/test_retention.py",
            "tests/timber/test_store.py",
        ),
    ),
    Suite(
        "sdschat/identity",
        ("tests/identity", "tests/vectors/test_content.py", "tests/vectors/test_sealing.py"),
        ("tests/node/test_proofs.py", "tests/node/test_altered.py", "tests/node/test_members_refused.py"),
    ),
    Suite(
        "sdschat/timber",
        ("tests/timber",),
        ("tests/timber/test_runs.py", "tests/timber/test_model.py", "tests/timber/test_processes.py"),
    ),
)


def suite_of(suites: Sequence[Suite], path: str) -> Suite:
    return next(suite for suite in suites if path.startswith(f"{suite.package}/"))


def files(root: Path, suite: Suite) -> list[str]:
    """Every file of tests, by name."""
    found: list[str] = []
    for place in suite.tests:
        whole = root / place
        paths = sorted(whole.rglob("test_*.py")) if whole.is_dir() else [whole]
        found += [path.relative_to(root).as_posix() for path in paths]
    return [*dict.fromkeys(found), *suite.last]


def ordered(root: Path, paths: Sequence[str], suite: Suite, mutated: str) -> list[str]:
    """Files in the order of running: first transcripts, which see most, then those named like the module, then short
    ones; those declared as last stay last."""
    words = _words(mutated)

    def rank(path: str) -> tuple[bool, bool, bool, int, str]:
        named = _words(path)
        return path in suite.last, "transcript" not in named, not words & named, (root / path).stat().st_size, path

    return sorted(paths, key=rank)


def _words(path: str) -> set[str]:
    """The words of a file's name, without a plural's s: `test_ranges.py` is about `ranges.py` and `range.py`."""
    return {word.rstrip("s") for word in re.split(r"[_.]", Path(path).name)} - {"test", "py", "and", "to", "", "of"}
