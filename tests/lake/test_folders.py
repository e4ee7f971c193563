"""The files of a folder that are read, and the messages about the others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.spark.ingest import sources_in
from sdschat.lake.sources.survey import DANGLING, LINKED_FOLDER, OTHER_KIND, SPECIAL, UNREADABLE, find
from tests.audit.field import database


def write(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")


def test_of_a_folder_only_whole_sources_are_taken(tmp_path: Path) -> None:
    write(tmp_path, "a.db", "deep/b.jsonl", ".spool/c.jsonl", "notes.txt", "_tmp/d.parquet")
    assert [path.name for path in find([tmp_path]).files] == ["a.db", "b.jsonl"]
    with pytest.raises(FileNotFoundError):
        find([tmp_path / "nowhere"])


def test_profiles_of_all_names_are_taken(tmp_path: Path) -> None:
    """A profile has the name of a nick, which may begin like a file that is still being written."""
    write(tmp_path, "_ann/sdschat.db", ".bob/sdschat.db", "cleo/sdschat.db", "_tmp/d.db")
    assert [path.parent.name for path in find([tmp_path]).files] == [".bob", "_ann", "cleo"]


def test_what_is_passed_over_is_known_by_its_reason(tmp_path: Path) -> None:
    write(tmp_path, "field/a.db", "field/notes.txt", "elsewhere/b.db")
    (tmp_path / "field/gone.db").symlink_to("nothing.db")
    (tmp_path / "field/deep").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "field/pipe.db")
    found = find([tmp_path / "field"])
    assert [path.name for path in found.files] == ["a.db"]
    assert {why: [path.name for path in paths] for why, paths in found.skipped.items()} == {
        LINKED_FOLDER: ["deep"],
        DANGLING: ["gone.db"],
        OTHER_KIND: ["notes.txt"],
        SPECIAL: ["pipe.db"],
    }


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a.db", "closed/b.db")
    (tmp_path / "closed").chmod(0)
    try:
        assert find([tmp_path]).skipped == {UNREADABLE: [tmp_path / "closed"]}
    finally:
        (tmp_path / "closed").chmod(0o700)


def test_of_what_belongs_to_a_profile_nothing_is_said(untouched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert database(untouched, "ann").with_name("identity.key").exists()
    assert [path.name for path in sources_in([untouched])] == ["sdschat.db"] * 3
    assert capsys.readouterr().err == ""


def test_how_many_are_passed_over_and_why_is_a_warning_that_names_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.db", *(f"{number}.txt" for number in range(5)))
    (tmp_path / "gone.db").symlink_to("nothing.db")
    assert [path.name for path in sources_in([tmp_path])] == ["a.db"]
    said = capsys.readouterr().err
    assert said.startswith(f"warning: 6 files are passed over: 5 are of another kind ({tmp_path}/0.txt, ")
    assert f"{tmp_path}/2.txt and 2 more); 1 is a link to nothing ({tmp_path}/gone.db). " in said


def test_a_folder_without_anything_to_take_in_is_refused_though_another_has_something(tmp_path: Path) -> None:
    write(tmp_path, "full/a.db", "full/notes.txt", "other/bob.sqlite")
    says = r"Nothing in .*/other can be taken in: .* or .parquet. 1 file is passed over: 1 is of another kind .*sqlite"
    with pytest.raises(CommandProblem, match=says) as caught:
        sources_in([tmp_path / "full", tmp_path / "other"])
    assert caught.value.exit_code == WRONG_USE


def test_a_link_to_nothing_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "gone.db").symlink_to("nothing.db")
    with pytest.raises(CommandProblem, match=r"gone.db is a link to nothing"):
        sources_in([tmp_path / "gone.db"])


def test_what_is_named_itself_is_taken_whatever_its_name_is(tmp_path: Path) -> None:
    write(tmp_path, "bob.sqlite")
    assert sources_in([tmp_path / "bob.sqlite"]) == [tmp_path / "bob.sqlite"]


def test_a_pipe_that_is_named_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(CommandProblem, match=r"pipe\.db is neither file nor folder\. Name databases"):
        sources_in([tmp_path / "pipe.db"])
