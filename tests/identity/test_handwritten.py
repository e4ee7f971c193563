"""Suggestions for mistyped names, and files that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from sdschat.identity.handwritten import TomlError, did_you_mean, nearest, read_toml


def test_the_nearest_name_is_found() -> None:
    assert nearest("serch", ["search", "reach", "say"]) == "search"


def test_nothing_is_near_a_name_of_other_letters() -> None:
    assert nearest("xyz", ["search", "reach"]) is None
    assert nearest("x", []) is None


def test_a_higher_measure_lets_fewer_names_pass() -> None:
    assert nearest("abcd", ["abdc"]) == "abdc"
    assert nearest("abcd", ["abdc"], 0.8) is None
    assert nearest("nonsense", ["open", "search"]) is None


def test_the_question_names_it_with_its_prefix() -> None:
    assert did_you_mean("serch", ["search"], prefix="/") == "Did you mean /search?"


def test_without_a_near_name_the_other_hint_stands() -> None:
    assert did_you_mean("xyz", ["search"], "/help lists all of them.") == "/help lists all of them."
    assert did_you_mean("xyz", ["search"]) == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"caf\xe9 = 1", "^it is no text in UTF-8, at byte 3$"),
        (b"a = ", "^Invalid value"),
        (b"a = " + b"[" * 100_000, "recursion"),
        (b"a = 1 # and much more", "^it has more than 20 bytes$"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "file.toml").write_bytes(content)
    with pytest.raises(TomlError, match=why):
        read_toml(tmp_path / "file.toml", 20 if "20" in why else None)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(TomlError, match=r"^Is a directory$"):
        read_toml(tmp_path)
