"""The faults that `doctor` finds in the files of a profile."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from sdschat.cli.doctor import room_problem
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from tests.cli.processes import run
from tests.cli.test_no_rights import run_without_rights
from tests.transport.worlds import Mosquitto

_NOWHERE = ("--broker", "mqtt://127.0.0.1:1")


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The key file of a profile of ann."""
    open_profile(database_path(tmp_path / "data", "ann"), make_settings({})).store.close()
    return tmp_path / "data" / "profiles" / "ann" / "identity.key"


def doctor(home: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return run(home, "doctor", "--data-dir", str(home / "data"), "--profile", "ann", *_NOWHERE, *more)


def found(home: Path, what: str) -> list[str]:
    return [line for line in doctor(home).stdout.splitlines() if line[6:].startswith(f"{what} ")]


@pytest.mark.parametrize("link", ["data", "data/profiles/ann/sdschat.db"])
def test_a_link_in_the_place_of_a_profile_that_leads_to_itself(tmp_path: Path, link: str) -> None:
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(Path(link).name)
    (line,) = found(tmp_path, "profile")
    assert line.startswith("FAIL")


def test_the_key_is_told_with_its_id(tmp_path: Path, key: Path) -> None:
    (line,) = found(tmp_path, "key")
    assert line.startswith("ok")
    assert str(key) in line


def test_a_damaged_key_is_told_as_join_tells_it(tmp_path: Path, key: Path) -> None:
    key.write_text("garbage\n")
    (line,) = found(tmp_path, "key")
    assert line.startswith("FAIL")
    assert f"The key file {key} is damaged" in line
    assert doctor(tmp_path).returncode == 5


def test_a_key_that_others_may_read_is_told_and_left_as_it_is(tmp_path: Path, key: Path) -> None:
    key.chmod(0o644)
    (line,) = found(tmp_path, "key")
    assert line.startswith("FAIL")
    assert line.endswith(f"chmod 600 {key}")
    assert key.stat().st_mode & 0o777 == 0o644


def test_a_key_that_is_gone_is_told(tmp_path: Path, key: Path) -> None:
    key.unlink()
    (line,) = found(tmp_path, "key")
    assert line.startswith("FAIL")
    assert "is not there" in line


def test_in_json_each_check_is_an_object_with_the_same_words(tmp_path: Path, key: Path) -> None:
    done = doctor(tmp_path, "--json")
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 3
    assert [(check["check"], check["ok"]) for check in checks if not check["ok"]] == [("broker", False)]
    assert str(key) in next(check["detail"] for check in checks if check["check"] == "key")


def test_a_damaged_page_in_the_middle_is_found(tmp_path: Path, key: Path) -> None:
    """Every page is read: the counts of the channels are right all the same."""
    path = database_path(tmp_path / "data", "ann")
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database.execute("PRAGMA page_size").fetchone()[0]
        (page,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'body'").fetchone()
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * size : page * size] = bytes(range(1, 256)) * (size // 255) + bytes(size % 255)
    path.write_bytes(damaged)
    (line,) = found(tmp_path, "profile")
    assert line.startswith("FAIL")
    assert "is damaged" in line
    assert "--salvage" in line
    assert doctor(tmp_path).returncode == 5


def test_a_profile_that_can_only_be_read_is_told(tmp_path: Path, key: Path) -> None:
    key.parent.chmod(0o500)
    try:
        done = run_without_rights(tmp_path, "doctor", "--data-dir", str(tmp_path / "data"), *_NOWHERE)
    finally:
        key.parent.chmod(0o700)
    assert [
        line for line in done.stdout.splitlines() if line.startswith("FAIL  profile") and "cannot be written" in line
    ]
    assert done.returncode == 5


def test_a_disk_that_is_nearly_full_is_told() -> None:
    assert room_problem(Path("/data"), 1 << 30) is None
    told = room_problem(Path("/data"), 5 * 1024)
    assert told is not None
    assert (told.good, told.exit_code) == (False, 5)
    assert "has 5 KiB left" in told.detail


def test_a_password_file_that_cannot_be_used_is_the_brokers_check(tmp_path: Path, key: Path) -> None:
    done = doctor(
        tmp_path, "--broker", "mqtts://ann@127.0.0.1:1", "--password-file", str(tmp_path / "nowhere"), "--json"
    )
    checks = [json.loads(line) for line in done.stdout.splitlines()]
    assert [check["ok"] for check in checks if check["check"] == "broker"] == [False]
    assert "cannot be read" in checks[-1]["detail"]
    assert (done.returncode, done.stderr) == (2, "")


def test_where_nothing_may_be_read_it_is_told(tmp_path: Path, key: Path) -> None:
    rules = tmp_path / "acl"
    rules.write_text("topic write #\n")

    async def scenario() -> None:
        async with Mosquitto(tmp_path, f"allow_anonymous true\nacl_file {rules}") as broker:
            checked = await asyncio.to_thread(doctor, tmp_path, "--broker", broker.url)
            assert checked.returncode == 3
            assert "did not come back: the broker forbids to read it, or hangs" in checked.stdout

    asyncio.run(scenario())


def test_with_the_permissions_of_the_page_all_is_well(tmp_path: Path, key: Path) -> None:
    page = (Path(__file__).parents[2] / "sdschat" / "transport" / "README.md").read_text("utf-8")
    rules = tmp_path / "acl"
    rules.write_text("\n".join(line[4:] for line in page.splitlines() if line.startswith("    topic ")) + "\n")

    async def scenario() -> None:
        async with Mosquitto(tmp_path, f"allow_anonymous true\nacl_file {rules}") as broker:
            checked = await asyncio.to_thread(doctor, tmp_path, "--broker", broker.url)
            assert (checked.returncode, "written and read back" in checked.stdout) == (0, True)
            sent = ("send", "lobby", "hello", "--data-dir", str(tmp_path / "data"), "--name", "ann")
            done = await asyncio.to_thread(run, tmp_path, *sent, "--broker", broker.url)
            assert (done.returncode, "not sent" in done.stderr) == (0, False)

    asyncio.run(scenario())
