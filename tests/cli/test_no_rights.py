"""Folders and profiles that this user may not read or write: each command says so in a line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sdschat.identity.keyfile import KEY_FILE, load_or_create
from tests.cli.processes import PATIENCE, command, environment
from tests.needs import needs_program


def run_without_rights(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end; for the superuser too, permissions of files count."""
    bound = (needs_program("setpriv"), "--inh-caps=-all", "--bounding-set=-all") if os.geteuid() == 0 else ()
    return subprocess.run(
        [*bound, *command(*arguments)],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("join", "lobby", "--plain"),
        ("join", "lobby"),
        ("send", "lobby", "hello"),
        ("log", "lobby"),
        ("export-identity", "ann.key"),
        ("doctor",),
    ],
    ids=lambda words: " ".join(words),
)
def test_a_profile_of_another_user_is_told_of_as_such(tmp_path: Path, words: tuple[str, ...]) -> None:
    folder = tmp_path / "data" / "profiles" / "ann"
    folder.mkdir(parents=True)
    folder.chmod(0)
    try:
        done = run_without_rights(tmp_path, *words, "--data-dir", str(tmp_path / "data"), "--profile", "ann")
    finally:
        folder.chmod(0o700)
    said = done.stdout + done.stderr
    assert done.returncode not in (0, 1)
    assert str(folder) in said
    assert "no permission" in said or "cannot be used: Permission denied" in said
    assert "unexpected failure" not in said


@pytest.mark.parametrize(("words", "code"), [(("log", "lobby"), 5), (("send", "lobby", "hello"), 2)])
def test_a_database_of_another_user_is_no_unexpected_failure(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    database = tmp_path / "data" / "profiles" / "ann" / "sdschat.db"
    load_or_create(database.parent)
    database.touch()
    database.chmod(0)
    done = run_without_rights(tmp_path, *words, "--data-dir", "data", "--name", "ann")
    assert done.returncode == code, done.stderr
    assert "is it another user's?" in done.stderr or "Make it writable for your user" in done.stderr


def test_where_the_files_of_another_user_are_is_told_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "profiles" / "ann"
    folder.mkdir(parents=True)
    folder.chmod(0)
    try:
        done = run_without_rights(tmp_path, "locate", "--data-dir", str(tmp_path / "data"), "--profile", "ann")
    finally:
        folder.chmod(0o700)
    assert done.returncode == 0
    assert f"{folder / 'sdschat.db'}  (no permission to look)" in done.stdout


def test_an_audit_tells_of_a_profile_that_it_may_not_read(tmp_path: Path) -> None:
    closed = tmp_path / "profiles" / "ann"
    closed.mkdir(parents=True)
    closed.chmod(0)
    try:
        done = run_without_rights(tmp_path, "audit", "profiles")
    finally:
        closed.chmod(0o700)
    assert done.returncode == 5
    assert "not read: profiles/ann: cannot be used (no permission to look into this folder)" in done.stdout


def test_a_key_of_another_user_is_told_as_one(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "profiles" / "ann"
    load_or_create(folder)
    (folder / KEY_FILE).chmod(0)
    done = run_without_rights(tmp_path, "send", "lobby", "hi", "--data-dir", "data", "--name", "ann")
    assert done.returncode == 5
    assert (
        done.stderr == "sdschat: data/profiles/ann/identity.key cannot be read: no permission. Is it another user's?\n"
    )
