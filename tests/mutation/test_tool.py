"""The tool finds mutations that tests do not notice, and leaves no files behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation import equivalent
from tests.mutation.__main__ import main
from tests.mutation.draw import Mutation, draw, mutations
from tests.mutation.killers import MOST, Killers
from tests.mutation.suites import SUITES, Suite, files, ordered
from tests.mutation.trial import Copy

ROOT = Path(__file__).resolve().parents[2]
TOY = (Suite("toy/bounds", ("tests/bounds",)),)
CODE = '''"""Bounds."""


def within(value: int, low: int, high: int) -> bool:
    """Tell if it is."""
    return low <= value and value < high
'''
TESTS = """from toy.bounds.within import within


def test_below():
    assert not within(0, 2, 5)


def test_lowest():
    assert within(2, 2, 5)


def test_above():
    assert not within(9, 2, 5)
"""


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    root = tmp_path / "toy-tree"
    for path, text in (
        ("toy/__init__.py", ""),
        ("toy/bounds/__init__.py", ""),
        ("toy/bounds/within.py", CODE),
        ("tests/bounds/test_within.py", TESTS),
        ("list.txt", ""),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def arguments(toy: Path, *more: str) -> list[str]:
    return ["--seed", "1", "--list", str(toy / "list.txt"), *more]


def all_of(source: str) -> list[tuple[str, str]]:
    return [(one.kind, one.after) for one in mutations("f.py", source.encode())]


def test_one_that_no_test_notices_survives_and_the_others_are_killed(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (toy / "toy/bounds/within.py").read_bytes()
    chosen = draw(toy, ["toy/bounds"], 1, 99)
    assert sorted(one.kind for one in chosen) == ["and/or", "comparison"]
    code = main(arguments(toy), toy, TOY)
    told = capsys.readouterr().out
    assert "killed by tests/bounds/test_within.py::test_below" in told
    assert "of 2 killed" in told
    assert code in (0, 1)
    assert (toy / "toy/bounds/within.py").read_bytes() == source


def every(toy: Path) -> list[Mutation]:
    return list(mutations("toy/bounds/within.py", (toy / "toy/bounds/within.py").read_bytes()))


@pytest.mark.parametrize(
    ("after", "result"),
    [("return low <= value and value <= high", "survived"), ("return low < value and value < high", "killed")],
)
def test_each_mutation_is_judged(toy: Path, tmp_path: Path, after: str, result: str) -> None:
    one = next(one for one in every(toy) if one.after == after)
    tried = Copy(toy, tmp_path / "copy").trial(one, ["tests/bounds"])
    assert tried.result == result


def test_the_second_mutation_of_a_file_is_not_taken_for_the_first(toy: Path, tmp_path: Path) -> None:
    """Python recognises changed code by size and date."""
    copy = Copy(toy, tmp_path / "copy")
    by_text = {one.after: one for one in every(toy)}
    found = [
        copy.trial(by_text[f"return {text}"], ["tests/bounds"]).result
        for text in ("low <= value or value < high", "low <= value and value <= high", "low > value and value < high")
    ]
    assert found == ["killed", "survived", "killed"]
    assert copy.run_tests(["tests/bounds"]).result == "survived"


def test_what_the_first_files_do_not_see_the_others_may(toy: Path, tmp_path: Path) -> None:
    blind = [toy / "tests/bounds" / f"test_{name}.py" for name in "abcd"]
    for path in blind:
        path.write_text("def test_nothing():\n    pass\n")
    names = [f"tests/bounds/{path.name}" for path in (*blind, toy / "tests/bounds/test_within.py")]
    by_text = {one.after: one for one in every(toy)}
    copy = Copy(toy, tmp_path / "copy")
    assert copy.trial(by_text["return low < value and value < high"], names).result == "killed"
    assert copy.trial(by_text["return low <= value and value <= high"], names).result == "survived"


def test_a_test_that_killed_before_is_run_first(toy: Path, tmp_path: Path) -> None:
    (toy / "tests/bounds/test_a.py").write_text(TESTS)
    by_text = {one.after: one for one in every(toy)}
    wrong = by_text["return low < value and value < high"]
    kept = tmp_path / "killers.txt"
    Killers(kept).add("toy/bounds/within.py", "tests/bounds/test_within.py::test_lowest")
    known = Killers(kept).of("toy/bounds/within.py")
    paths = ["tests/bounds/test_a.py", "tests/bounds/test_within.py"]
    copy = Copy(toy, tmp_path / "copy")
    assert copy.trial(wrong, paths).by == "tests/bounds/test_a.py::test_lowest"
    assert copy.trial(wrong, paths, likely=known).by == "tests/bounds/test_within.py::test_lowest"
    gone = ["tests/bounds/test_within.py::test_that_was_renamed"]
    assert copy.trial(wrong, paths, likely=gone).by == "tests/bounds/test_a.py::test_lowest"


def test_the_last_killers_of_a_file_are_known(tmp_path: Path) -> None:
    killers = Killers(tmp_path / "killers.txt")
    for number in range(MOST + 1):
        killers.add("a.py", f"t.py::{number}")
    killers.add("a.py", "t.py::1")
    killers.add("b.py", "pytest ended with 3")
    assert killers.of("a.py") == ["t.py::1", *(f"t.py::{number}" for number in range(MOST, 1, -1))]
    assert killers.of("b.py") == []


def test_a_test_that_takes_too_long_is_ended(toy: Path, tmp_path: Path) -> None:
    (toy / "tests/bounds/test_within.py").write_text("import time\n\ndef test_long():\n    time.sleep(60)\n")
    assert Copy(toy, tmp_path / "copy").run_tests(["tests/bounds"], 2).result == "timed out"


def test_only_processor_time_counts(toy: Path, tmp_path: Path) -> None:
    """On a busy machine a test takes long by the clock without a fault of the code."""
    slow, endless = "time.sleep(4)", "while True: pass"
    copy = Copy(toy, tmp_path / "copy")
    results = []
    for body in (slow, endless):
        (copy.root / "tests/bounds/test_within.py").write_text(f"import time\n\ndef test_it():\n    {body}\n")
        results.append(copy.run_tests(["tests/bounds"], 3).result)
    assert results == ["survived", "timed out"]


def test_it_goes_on_where_it_stopped(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(arguments(toy), toy, TOY)
    before = capsys.readouterr().out.splitlines()[-1]
    main(arguments(toy, "--resume"), toy, TOY)
    after = capsys.readouterr().out
    assert "killed by" not in after
    assert after.splitlines()[-1] == before


def test_what_is_declared_equivalent_is_not_tried(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    declared = "".join(f"{equivalent.key(one)}  ## none of them counts\n" for one in every(toy))
    (toy / "list.txt").write_text("A note.\n" + declared)
    assert main(arguments(toy), toy, TOY) == 0
    assert "0 of 0 killed, 100.0 %; 2 more declared to be equivalent" in capsys.readouterr().out


def test_a_declaration_without_a_reason_is_an_error(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (toy / "list.txt").write_text("toy/bounds/within.py: a → b\n")
    assert main(arguments(toy), toy, TOY) == 2
    assert "list.txt, line 1: no reason" in capsys.readouterr().err


def test_a_test_that_fails_without_a_mutation_kills_none(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (toy / "tests/bounds/test_within_all.py").write_text("def test_wrong():\n    assert False\n")
    main(arguments(toy), toy, TOY)
    told = capsys.readouterr().out
    assert told.count("test_wrong fails without a mutation: it does not count") == 1
    assert "killed by tests/bounds/test_within.py::test_" in told


def test_interrupted_it_leaves_nothing_behind(toy: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    (toy / "tests/bounds/test_within.py").write_text(
        f"import time\n\ndef test_long():\n    open({str(begun)!r}, 'w').close()\n    time.sleep(60)\n"
    )
    rest = tmp_path / "rest"
    rest.mkdir()
    program = (
        "import sys, pathlib, tests.mutation.__main__ as m, tests.mutation.test_tool as t; "
        f"toy = pathlib.Path({str(toy)!r}); sys.exit(m.main(t.arguments(toy), toy, t.TOY))"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(rest)}
    running = subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True)
    begun.read_text()  # waits for the test
    assert list(rest.iterdir())
    running.send_signal(signal.SIGINT)
    told = running.communicate(timeout=30)[0]
    assert running.returncode == 130
    assert "--resume" in told
    assert list(rest.iterdir()) == []


def test_the_same_seed_draws_the_same() -> None:
    packages = ["sdschat/catchup"]
    assert draw(ROOT, packages, 7, 30) == draw(ROOT, packages, 7, 30)
    assert draw(ROOT, packages, 7, 30) != draw(ROOT, packages, 8, 30)


@pytest.mark.parametrize(
    ("source", "kind", "after"),
    [
        ("x = a < b", "comparison", "x = a <= b"),
        ("x = a < b", "comparison", "x = a >= b"),
        ("x = a is None", "comparison", "x = a is not None"),
        ("x = a or b", "and/or", "x = a and b"),
        ("x = not a", "not", "x = (a)"),
        ("if a: b()", "not", "if (not a): b()"),
        ("if a: b()", "removed", "if a: pass"),
        ("x = a + 1", "sign", "x = a - 1"),
        ("x += y", "sign", "x -= y"),
        ("x = 7", "constant", "x = 8"),
        ("x = 7", "constant", "x = (6)"),
        ("x = min(a, b)", "min/max", "x = max(a, b)"),
        ("x = f(a, b)", "swapped", "x = f(b, a)"),
        ("for a in b: continue", "continue/break", "for a in b: break"),
        ("self.a = b", "removed", "pass"),
        ("def f() -> bool: return g()", "return", "def f() -> bool: return not (g())"),
        ("def f() -> int | None: return g()", "return", "def f() -> int | None: return None"),
        ("x = 'grün' and b", "and/or", "x = 'grün' or b"),
    ],
)
def test_kinds(source: str, kind: str, after: str) -> None:
    assert (kind, after) in all_of(source)


@pytest.mark.parametrize(
    "source",
    [
        'raise ValueError("x", 1)',
        "def f(a: Literal[1]) -> int: ...",
        "@lru_cache(maxsize=64)\ndef f(): ...",
        "f'{a + 1}'",
    ],
)
def test_left_out(source: str) -> None:
    assert all_of(source) == []


def test_tests_of_the_same_name_come_first_and_long_ones_last(tmp_path: Path) -> None:
    suite = Suite("sdschat/sds", ("tests/sds",), ("tests/sim/test_seeds.py",))
    sizes = {"sds/test_a": 5, "sds/test_b": 1, "sds/test_ranges": 9, "sds/test_transcripts": 9, "sim/test_seeds": 0}
    paths = [f"tests/{name}.py" for name in sizes]
    for path, size in zip(paths, sizes.values(), strict=True):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x" * size)
    order = ordered(tmp_path, paths, suite, "sdschat/sds/steps/ranges.py")
    assert [Path(path).stem for path in order] == [
        "test_transcripts",
        "test_ranges",
        "test_b",
        "test_a",
        "test_seeds",
    ]


def test_every_suite_has_tests_and_every_declaration_holds() -> None:
    for suite in SUITES:
        assert len(files(ROOT, suite)) > 1
    known = {
        equivalent.key(one)
        for suite in SUITES
        for path in sorted((ROOT / suite.package).rglob("*.py"))
        for one in mutations(path.relative_to(ROOT).as_posix(), path.read_bytes())
    }
    assert set(equivalent.load(equivalent.FILE)) - known == set(), "these lines are not as they were"
