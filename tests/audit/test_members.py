"""`sdschat audit` of members' channels, on databases that real nodes wrote, with faults put in by hand."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sdschat.cli.program import program
from sdschat.node.events import CheckpointPassed
from sdschat.store.columns import row_sum
from tests.audit.field import database, forge, one
from tests.node.test_members import _channel, _let_in, _start
from tests.node.worlds import Member, world

SECRET = "the wombat is ours"
KEPT = "good morning to all"


async def _alive(member: Member, posts: int) -> None:
    """Wait until so many posts are settled, and the rows of the database are those of that checkpoint."""
    await member.until(CheckpointPassed, lambda one: one.alive == posts)
    store = member.node.profile.store
    async with asyncio.timeout(20):
        while store.connection.execute("SELECT count(*) FROM timber_post").fetchone() != (posts,):
            await asyncio.sleep(0.02)


async def _talk(folder: Path) -> None:
    """Two members talk; one post is deleted. bob's database is kept from before that, too."""
    async with world(folder) as place:
        ann, bob = _start(place, "ann"), _start(place, "bob")
        await _let_in(ann, bob)
        secret = ann.node.say("garden", SECRET)
        bob.node.say("garden", KEPT)
        for member in (ann, bob):
            await _alive(member, 2)
        with (
            closing(sqlite3.connect(database(folder, "bob"))) as source,
            closing(sqlite3.connect(folder / "before")) as copy,
        ):
            source.backup(copy)
        _channel(ann).delete(secret)
        for member in (ann, bob):
            await _alive(member, 1)
        for at in range(8):
            ann.node.say("garden", f"post number {at}")
            for member in (ann, bob):
                await _alive(member, 2 + at)


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("members")
    asyncio.run(_talk(folder))
    return folder


@pytest.fixture
def field(talked: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(talked, tmp_path / "field"))


def _audit(folder: Path, *names: str) -> tuple[int, dict[str, Any], str]:
    paths = [str(folder / name if name == "before" else database(folder, name)) for name in names]
    said = CliRunner().invoke(program, ["audit", *paths], standalone_mode=False)
    found = CliRunner().invoke(program, ["audit", *paths, "--json"], standalone_mode=False)
    assert said.return_value == found.return_value
    return found.return_value, json.loads(found.stdout), said.stdout


def _details(found: dict[str, Any]) -> list[tuple[str, str]]:
    (members,) = found["members"]
    return [(row["kind"], row["detail"]) for row in members["findings"]]


def test_members_that_agree_end_with_0(field: Path) -> None:
    code, found, said = _audit(field, "ann", "bob")
    assert (code, found["agreed"], _details(found)) == (0, True, [])
    assert "garden: a members' channel, 2 nodes" in said
    assert (
        "all checkpoints are prefixes of one another, all committees are equal, and nothing is left of 1 deleted"
        in said
    )
    assert said.count("garden") == 1, "and no word of an empty log"


def test_a_database_from_before_a_deletion_is_a_prefix_and_may_have_the_text(field: Path) -> None:
    code, found, _ = _audit(field, "ann", "before")
    assert (code, _details(found)) == (0, [])
    assert SECRET.encode() in (field / "before").read_bytes()
    assert found["members"][0]["lowest"] < found["members"][0]["highest"]


def _first_settled(field: Path, name: str) -> int:
    """Return the place of the first checkpoint in the journal of a node."""
    query = "SELECT place FROM journal WHERE event = 'settled' AND peer IS NULL ORDER BY place LIMIT 1"
    return int(one(field, name, query))


def test_a_checkpoint_that_is_no_prefix_of_the_others_is_found_with_its_operation(field: Path) -> None:
    place = _first_settled(field, "bob")
    number = int(one(field, "bob", f"SELECT messages FROM journal WHERE place = {place}"))
    forge(field, "bob", "journal", place, fingerprint="ab" * 16)
    code, found, said = _audit(field, "ann", "bob")
    assert code == 1
    assert _details(found) == [("checkpoint", f"its checkpoint is another at operation {number} than that of ann")]
    assert "the nodes do not agree: 1 fault was found" in said


def test_a_nick_that_looks_like_the_id_of_another_has_its_own_id_behind_it(field: Path) -> None:
    for at in ("ann", "bob"):
        with closing(sqlite3.connect(database(field, at))) as connection, connection:
            for key, nick, since in connection.execute("SELECT public_key, nick, first_seen FROM key_met").fetchall():
                row = (f"{nick} <01234567>", row_sum((key, f"{nick} <01234567>", since)), key)
                connection.execute("UPDATE key_met SET nick = ?, sum = ? WHERE public_key = ?", row)
    forge(field, "bob", "journal", _first_settled(field, "bob"), fingerprint="ab" * 16)
    _, found, said = _audit(field, "ann", "bob")
    nodes = found["members"][0]["nodes"].items()
    ann, bob = (next(node for node, nick in nodes if nick[:3] == at) for at in ("ann", "bob"))
    assert f"  bob <01234567> <{bob[:8]}>: its checkpoint" in said
    assert f"than that of ann <01234567> <{ann[:8]}>" in said


@pytest.mark.parametrize(("agreed", "kinds"), [(1, ["ballot"]), (2, [])])
def test_a_removal_that_fewer_agreed_to_than_were_needed_is_found(field: Path, agreed: int, kinds: list[str]) -> None:
    voters = json.dumps([f"{at:032x}" for at in range(agreed)])
    ballot = {"event": "ballot", "peer": "ee" * 16, "deps": voters, "attempt": 2}
    forge(field, "bob", "journal", _first_settled(field, "bob"), **ballot)
    _, found, _ = _audit(field, "ann", "bob")
    assert [kind for kind, _ in _details(found)] == kinds


def test_a_deleted_post_that_was_put_back_is_found(field: Path) -> None:
    with (
        closing(sqlite3.connect(field / "before")) as old,
        closing(sqlite3.connect(database(field, "bob"))) as connection,
        connection,
    ):
        row = old.execute("SELECT * FROM timber_post WHERE text = ?", (SECRET,)).fetchone()
        connection.execute(f"INSERT INTO timber_post VALUES ({', '.join('?' * len(row))})", row)
    code, found, said = _audit(field, "ann", "bob")
    assert code == 1
    ((kind, detail),) = _details(found)
    assert kind == "deleted"
    assert detail.endswith("was deleted, and is among its posts")
    assert "  bob: the post " in said


def test_words_of_a_deleted_post_in_any_file_of_a_profile_are_found(field: Path) -> None:
    left = database(field, "ann").with_name("sdschat.db-copy")
    left.write_bytes(b"\0" * 100 + SECRET.encode())
    code, found, _ = _audit(field, "ann", "bob", "before")
    assert code == 1
    assert _details(found) == [("deleted", f"{left} has 1 of the deleted texts")]


def test_words_of_a_deleted_post_are_found_beside_a_database_with_brackets_in_its_name(field: Path) -> None:
    path = database(field, "bob")
    copy = path.rename(path.with_name("bob [1].db"))
    copy.with_name("bob [1].db-old").write_text(f"an old page: {SECRET}")
    paths = (database(field, "ann"), copy, field / "before")
    said = CliRunner().invoke(program, ["audit", *map(str, paths)], standalone_mode=False)
    assert "bob [1].db-old has 1 of the deleted texts" in said.stdout


def test_a_member_that_another_database_does_not_have_is_found(field: Path) -> None:
    with closing(sqlite3.connect(database(field, "bob"))) as connection, connection:
        query = "SELECT channel, name, value FROM timber_row WHERE name LIKE 'slot/1'"
        channel, name, value = connection.execute(query).fetchone()
        slot = json.loads(value)
        slot[1] = "cd" * 32
        changed = (channel, name, json.dumps(slot, separators=(",", ":")))
        connection.execute(
            "UPDATE timber_row SET value = ?, sum = ? WHERE name = ?", (changed[2], row_sum(changed), name)
        )
    code, found, _ = _audit(field, "ann", "bob")
    assert code == 1
    assert "committee" in [kind for kind, _ in _details(found)]


def test_a_row_that_the_disk_altered_is_told(field: Path) -> None:
    with closing(sqlite3.connect(database(field, "bob"))) as connection, connection:
        connection.execute("UPDATE timber_post SET text = 'other' WHERE text = ?", (KEPT,))
    code, found, _ = _audit(field, "ann", "bob")
    assert code == 1
    ((kind, detail),) = _details(found)
    assert kind == "altered"
    assert "timber_post" in detail


def test_members_that_never_said_anything_are_nodes_of_their_own(tmp_path: Path) -> None:
    async def listen() -> None:
        async with world(tmp_path) as place:
            ann, bob, cid = _start(place, "ann"), _start(place, "bob"), _start(place, "cid")
            for guest in (bob, cid):
                await _let_in(ann, guest)
            for at in range(8):
                ann.node.say("garden", f"post number {at}")
                for member in (ann, bob, cid):
                    await _alive(member, 1 + at)

    asyncio.run(listen())
    code, report, told = _audit(tmp_path, "ann", "bob", "cid")
    assert code == 0
    assert "3 nodes" in told
    assert "" not in report["members"][0]["nodes"]
