"""The tables of a members' channel: what was saved is there after a kill anywhere, and what was deleted nowhere."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from sdschat.node.members.wiping import Wiping
from sdschat.store.audit_reader import AuditReader
from sdschat.store.migrate import keep_copy
from sdschat.store.store import Store
from sdschat.store.timber import load_timber, open_timber, save_timber
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import Compacted
from sdschat.timber.rows import CompactionRow, Drop, OperationRow, Put, ReplicaTable
from sdschat.timber.values import (
    Accept,
    Ballot,
    CheckpointMark,
    EventBody,
    Kind,
    Now,
    Operation,
    Post,
    PostId,
    Proposal,
    SignedEvent,
    Statements,
    Value,
    VoteRow,
    operation_id,
)
from tests.store.samples import CODEC as SDS_CODEC
from tests.timber.group import Group, Node
from tests.timber.world import CODEC, key_of, sign_with, signed_event, signed_operation, verify

POSTS = 4  # of each kind: those that stay, and those that are deleted


def boot(store: Store, now: Now) -> TimberEngine:
    identity = Signer(key_of(0), sign_with(key_of(0)))
    return TimberEngine(Config(), identity, CODEC, verify, now, open_timber(store, "garden"))


def save(store: Store, engine: TimberEngine) -> None:
    ready = engine.take()
    wipes = any(isinstance(one, Compacted) and one.wipes for one in ready.events)
    with store.transaction() as transaction:
        save_timber(transaction, "garden", ready.writes, wipe=wipes)


def life_of(engine: TimberEngine) -> list[Callable[[Now], object]]:
    """A life: posts, of which every second one is deleted."""

    def delete(at: int) -> Callable[[Now], object]:
        return lambda now: engine.delete(
            next(view.post.name for view in engine.posts() if f"gone{at}" in view.post.text), now
        )

    def say(text: str) -> Callable[[Now], object]:
        return lambda now: engine.say(text, now)

    found: list[Callable[[Now], object]] = []
    if not engine.data_set:
        found.append(lambda now: engine.found(b"garden", now))
    for at in range(POSTS):
        found += [say(f"kept{at} stays"), say(f"gone{at} " * (at * 300 + 1)), delete(at)]
    return found


def _live(path: Path, die_at: int, said: int) -> int:
    """Run the steps. Return the number of statements that the database executed, if we survive."""
    count = 0

    def trace(_: str) -> None:
        nonlocal count
        count += 1
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    with Store.open(path, SDS_CODEC) as store:
        store.connection.set_trace_callback(trace)
        engine = boot(store, Now(0, 0))
        for at, step in enumerate(life_of(engine)):
            step(Now(at, at))
            save(store, engine)
            os.write(said, bytes([at + 1]))
    return count


def texts_after(steps: int) -> list[str]:
    engine = TimberEngine(Config(), Signer(key_of(0), sign_with(key_of(0))), CODEC, verify, Now(0, 0))
    for at, step in enumerate(life_of(engine)[:steps]):
        step(Now(at, at))
    return [view.post.text for view in engine.posts()]


def _bytes(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


def _killed(path: Path, die_at: int) -> int:
    """Live until a statement of the database, and return the number of steps that were reported as saved."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _live_and_leave(path, die_at, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    return max(told, default=0)


def _live_and_leave(path: Path, die_at: int, said: int) -> NoReturn:
    try:
        _live(path, die_at, said)
    finally:
        os._exit(0)


def test_a_kill_at_any_statement_loses_nothing_and_brings_nothing_deleted_back(tmp_path: Path) -> None:
    whole = _live(tmp_path / "whole" / "sdschat.db", -1, os.open(os.devnull, os.O_WRONLY))
    assert whole > 100
    for die_at in range(1, whole + 1, 7):
        path = tmp_path / str(die_at) / "sdschat.db"
        said = _killed(path, die_at)
        with Store.open(path, SDS_CODEC) as store:
            engine = boot(store, Now(0, 0))
            texts = [view.post.text for view in engine.posts()]
            # The commit under way may be saved or not.
            found = next(steps for steps in (said, said + 1) if texts == texts_after(steps))
            files = _bytes(path)
            deleted = [at for at in range(POSTS) if 3 * at + 4 <= found]
            assert [at for at in deleted if f"gone{at}".encode() in files] == []
            if engine.data_set:
                engine.say("more", Now(0, 0))
                save(store, engine)
                assert [view.post.text for view in boot(store, Now(0, 0)).posts()] == [*texts, "more"]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    """Rows of members at work: operations in front of the checkpoint, an outbox, votes on a ballot."""
    group = Group("ann", "bob", "cid")
    group.say("ann", "one", "two", "three")
    group["bob"].engine.say("answered", group.now, group["bob"].engine.posts()[0].post.name)
    group.carry(group["bob"])
    group["cid"].up = False
    for at in range(8):
        group.say(("ann", "bob")[at % 2], f"post {at}")
        for node in group.nodes.values():
            path = tmp_path / node.name / str(at) / "sdschat.db"
            kept = node.store.snapshot()
            with Store.open(path, SDS_CODEC) as store:
                with store.transaction() as transaction:
                    writes = [Put(table, key, row) for (table, key), row in node.store.rows.items()]
                    save_timber(transaction, "garden", writes)
                found = load_timber(store, "garden")
                assert found is not None
                assert found.log == kept.log
                assert [set(one) for one in found[1:-1]] == [set(one) for one in kept[1:-1]]
                assert load_timber(store, "lobby") is None


def test_votes_come_back_whatever_they_say(tmp_path: Path) -> None:
    one, other = Ballot(3, 1), Ballot(4, 2)
    value, empty = Value(((2, 17), (5, 0)), (0, 1, 3)), Value((), ())
    votes = (
        VoteRow(0, None, None, None, None, None),
        VoteRow(1, one, other, (one, value), Proposal(other, empty, False), Accept(one, value, 3)),
        VoteRow(2, None, one, (other, empty), Proposal(one, value, True), None),
    )
    row = CompactionRow(bytes(range(32)), CheckpointMark(7, b"x" * 32), b"y" * 32, 2, (0, 1, 3), votes, ((0, 9),))
    with Store.open(tmp_path / "p" / "sdschat.db", SDS_CODEC) as store:
        with store.transaction() as transaction:
            save_timber(transaction, "garden", [Put(ReplicaTable.LOG, (), row)])
        found = load_timber(store, "garden")
    assert found is not None
    assert found.log == row


def test_no_copy_of_a_deleted_text_is_left_in_any_page(tmp_path: Path) -> None:
    """Texts of all lengths, so that rows move from page to page."""
    rng = random.Random(7)
    path = tmp_path / "ann" / "sdschat.db"
    alive: list[Post] = []
    gone: list[bytes] = []
    with Store.open(path, SDS_CODEC) as store:
        for _ in range(12):
            first = len(alive) + len(gone)
            posts = [
                Post(
                    PostId(rng.randint(0, 3), first + at),
                    first + at,
                    0,
                    f"word{first + at:04d}z" * rng.choice((1, 3, 9, 90)),
                )
                for at in range(30)
            ]
            with store.transaction() as transaction:
                rows = [
                    OperationRow(post.name.author, post.place, post.place, post.text.encode(), b"") for post in posts
                ]
                save_timber(
                    transaction,
                    "garden",
                    [Put(ReplicaTable.POST, post.name, post) for post in posts]
                    + [Put(ReplicaTable.OPERATION, (row.slot, row.seq), row) for row in rows],
                )
            alive += posts
            rng.shuffle(alive)
            dropped, alive = alive[:20], alive[20:]
            drops = [Drop(ReplicaTable.POST, post.name) for post in dropped]
            drops += [Drop(ReplicaTable.OPERATION, (post.name.author, post.place)) for post in dropped]
            with store.transaction() as transaction:
                save_timber(transaction, "garden", drops, wipe=True)
            gone += [post.text[:9].encode() for post in dropped]
            files = _bytes(path)
            assert [word for word in gone if word in files] == []
            assert all(post.text[:9].encode() in files for post in alive)


def test_the_copy_kept_before_a_migration_goes_with_the_first_deletion(tmp_path: Path) -> None:
    path = tmp_path / "ann" / "sdschat.db"
    post = Post(PostId(0, 1), 1, 0, "a secret word")
    with Store.open(path, SDS_CODEC) as store:
        with store.transaction() as transaction:
            save_timber(transaction, "garden", [Put(ReplicaTable.POST, post.name, post)])
        copy = keep_copy(store.connection, path, 9)
        assert b"a secret word" in copy.read_bytes()
        with store.transaction() as transaction:
            save_timber(transaction, "garden", [Drop(ReplicaTable.POST, post.name)], wipe=True)
        assert not [file for file in path.parent.iterdir() if b"a secret word" in file.read_bytes()]


def test_a_deletion_does_not_wait_for_a_reader(tmp_path: Path) -> None:
    """An audit reads for minutes. Each commit of the node waited five seconds for it, and nothing else ran."""
    path = tmp_path / "ann" / "sdschat.db"
    post = Post(PostId(0, 1), 1, 0, "a secret word")
    with Store.open(path, SDS_CODEC) as store:
        with store.transaction() as transaction:
            save_timber(transaction, "garden", [Put(ReplicaTable.POST, post.name, post)])
        began = time.monotonic()
        with AuditReader(path):
            with store.transaction() as transaction:
                save_timber(transaction, "garden", [Drop(ReplicaTable.POST, post.name)], wipe=True)
            assert not store.wipe()
        assert time.monotonic() - began < 4
        assert store.wipe()
        assert b"a secret word" not in _bytes(path)
        (patience,) = store.connection.execute("PRAGMA busy_timeout").fetchone()
        assert patience == 5000, "of everything else, as before"


class Keeper:
    """A member whose disk is a real database, and who is handed operations one by one."""

    def __init__(self, group: Group, name: str, path: Path) -> None:
        self.group, self.node = group, group[name]
        self.store = Store.open(path, SDS_CODEC)
        self.wiping = Wiping(self.store.wipe)
        with self.store.transaction() as transaction:
            writes = [Put(table, key, row) for (table, key), row in self.node.store.rows.items()]
            save_timber(transaction, "garden", writes)

    def hear(self, *operations: Operation) -> Operation:
        """Take these in, and answer. Return the answer."""
        core = self.node.engine._core
        for operation in operations:
            core.receive(operation, b"")
        answer = core.write(None, Statements())
        self.node.engine.advance(self.group.now)
        ready = self.node.engine.take()
        wipes = self.wiping.process(ready.events, 0)
        with self.store.transaction() as transaction:
            save_timber(transaction, "garden", ready.writes, wipe=wipes)
        return answer


def test_the_second_copy_of_a_deleted_post_leaves_no_trace_when_it_stands_behind_the_deletion(tmp_path: Path) -> None:
    """Two members write a post at the same time. The checkpoint passes the first copy and the deletion, and later the
    second copy."""
    group = Group("ann", "bob", "cid", compact_after=1)
    group.settle(60_000)
    author = group["bob"].engine.me
    assert author is not None
    name = PostId(author, 1000)  # a number that was not used

    def event(body: EventBody) -> SignedEvent:
        return signed_event(group.data_set, group["bob"].key, body)

    def write(writer: str, made: SignedEvent | None = None) -> Operation:
        """Return the next operation of bob or cid, who takes it in."""
        node = group[writer]
        operation = signed_operation(group.data_set, node.key, node.engine._core.replica.draft(made, Statements()))
        tell(writer, operation)
        return operation

    def tell(to: str, *operations: Operation) -> None:
        for operation in operations:
            group[to].engine._core.receive(operation, b"")

    said = event(EventBody(Kind.SAY, *name, 0, "a secret word"))
    copies = {writer: write(writer, said) for writer in ("bob", "cid")}
    first, second = sorted(copies, key=lambda writer: operation_id(group.data_set, copies[writer].raw))
    deletion = write(first, event(EventBody(Kind.DELETE, author, name.number + 1, 0, target=name)))
    tell(second, copies[first], deletion)
    path = tmp_path / "ann" / "sdschat.db"
    ann = Keeper(group, "ann", path)
    with ann.store:
        answer = ann.hear(copies[first], deletion)
        tell(second, answer)
        later = ann.hear(copies[second], write(second))
        assert ann.node.engine._core.replica.chat.knows(PostId(author, name.number + 1))
        assert b"a secret word" in _bytes(path)  # in the second copy, which the checkpoint has not passed
        tell(first, answer, copies[second])
        tell(second, later)
        ann.hear(write(first), write(second))
        assert b"a secret word" not in _bytes(path)


class Race(Group):
    """The first who accepts a removal gets an operation of that member right after."""

    late: Operation | None = None
    holder: Node | None = None

    def carry(self, node: Node) -> None:
        super().carry(node)
        turn, me = node.engine._core.replica.turn, node.engine.me
        accepted = [] if me is None else turn.accepted.get(me, {}).values()
        if self.late is not None and self.holder is None and any(value.removed for value, _ in accepted):
            self.holder = node
            node.engine._core.receive(self.late, b"")
            super().carry(node)


@pytest.mark.parametrize("salt", range(4))
def test_texts_of_a_member_that_was_removed_go_wherever_they_stand(salt: int) -> None:
    """Chance decides whether what does not count any more stands before all that others write, or behind it."""
    group = Race("ann", "bob", "cid")
    group.say("ann", f"salt {salt}")
    group.settle(60_000)
    cid = group["cid"]
    assert cid.engine.me is not None
    event = signed_event(group.data_set, cid.key, EventBody(Kind.SAY, cid.engine.me, 1000, 0, "a secret word"))
    group.late = cid.engine._core.write(event, Statements())
    group.sides["cid"] = 1
    for at in range(40):
        group.say(("ann", "bob")[at % 2], f"post {at}")
    group.settle(30_000)
    holder = group.holder
    assert holder is not None
    raws = [row.raw for row in holder.store.rows.values() if isinstance(row, OperationRow)]
    assert [raw for raw in raws if b"a secret word" in raw] == []
    assert any(report.wipes for report in holder.heard(Compacted))
    slots = holder.engine._core.replica.committee.slots
    assert holder.boot(group.now)._core.replica.committee.slots[cid.engine.me].seq == slots[cid.engine.me].seq
