"""Members' channels in several databases: are all checkpoints prefixes of one another, are all committees equal, and is
anything that was deleted still in any file?

A checkpoint has a number of operations and a hash chain over their ids. So of two checkpoints one is a prefix of the
other where both have the same hash at one number; from the first number on at which they have not, they differ. A
database has the hash at its compaction, at each operation behind it, and in its journal that at every eighth operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from glob import escape
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.audit.verdict import names_by
from sdschat.identity.signing import verify
from sdschat.store.errors import StoreError
from sdschat.store.journal import BALLOT, DELETED, SETTLED, JournalRow, hash_text
from sdschat.store.reader import Reader
from sdschat.store.timber import load_timber
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.limits import KEY_BYTES
from sdschat.timber.rows import CompactionRow, Snapshot
from sdschat.timber.values import Now, Operation, SignedEvent, chained, member_id, message_id_of, sender_of
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.timber_codec import TimberCodec

_LEAST: Final = 8  # bytes of a text that is searched for in files: shorter ones are found by chance
_NOBODY: Final = Signer(bytes(KEY_BYTES), lambda _: b"")  # the engine is only asked


class MembersFinding(NamedTuple):
    """A fault. `kind`: altered, checkpoint, committee, ballot or deleted."""

    channel: str
    node: str  # sender id
    kind: str
    detail: str


class MembersAudit(NamedTuple):
    """The verdict on a members' channel."""

    channel: str
    data_set: str
    nodes: dict[str, str]  # nicks by sender id
    lowest: int  # of the checkpoints, in operations
    highest: int
    deleted: int  # posts that are known to be deleted
    findings: list[MembersFinding]
    alone: list[str]  # sender ids of nodes whose checkpoint has no number at which another's hash is known


class _Replica(NamedTuple):
    """The rows and hashes of a members' channel in one database."""

    channel: str
    path: Path
    node: str
    rows: Snapshot
    log: CompactionRow
    number: int  # of the checkpoint
    hashes: dict[int, str]
    deleted: dict[str, int]  # posts by message id, and the operations that were settled by then
    ballots: list[JournalRow]
    texts: dict[str, set[str]]  # of the posts, by message id
    waiting: set[str]  # texts of what is not compacted yet


def audit_members(paths: Iterable[Path]) -> list[MembersAudit]:
    """Compare the members' channels of databases. One that cannot be read is left to the audit of the logs."""
    groups: dict[tuple[str, bytes], list[_Replica]] = defaultdict(list)
    damaged: dict[str, list[MembersFinding]] = defaultdict(list)
    nicks: dict[str, str] = {}
    for path in paths:
        try:
            with Reader.open(path, SdsCodec()) as reader:
                reader.connection.execute("BEGIN")  # from here on, all queries see the same state
                nicks |= {sender_of(member_id(key)): nick for key, nick, _ in reader.keys()}  # noqa: SIM118
                for name in reader.timber_channels():
                    found = _replica(reader, name)
                    if isinstance(found, MembersFinding):
                        damaged[name].append(found)
                    elif found is not None:
                        groups[name, found.log.data_set].append(found)
        except StoreError:
            continue
    names = {name for name, _ in groups}
    for name in damaged.keys() - names:
        groups[name, b""] = []
    return [
        _verdict(name, data_set, replicas, nicks, damaged.pop(name, []))
        for (name, data_set), replicas in sorted(groups.items())
    ]


def _replica(reader: Reader, channel: str) -> _Replica | MembersFinding | None:
    """Return what the database has of the channel; None before its node was let in."""
    try:
        rows = load_timber(reader, channel)
        if rows is None or rows.log is None:
            return None
        engine = TimberEngine(Config(), _NOBODY, TimberCodec(), verify, Now(0, 0), rows)
        told = list(reader.journal(channel))
    except (StoreError, ValueError, TypeError, KeyError) as error:
        return MembersFinding(channel, "", "altered", f"{reader.path}: {error}")
    log = rows.log
    journal = [row for row in told if row.event in (SETTLED, DELETED, BALLOT)]
    hashes = {row.messages or 0: row.fingerprint or "" for row in journal if row.event == SETTLED}
    hashes[log.mark.number] = hash_text(log.mark.hash)
    number, value = log.mark
    for node in engine.operations():
        if node.settled and not node.dead:
            number, value = number + 1, chained(value, node.id)
            hashes[number] = hash_text(value)
    deleted = {row.message_id: row.messages or 0 for row in journal if row.event == DELETED and row.message_id}
    own = [row.key for row in rows.slots if any(mine.slot == row.number for mine in rows.own)]
    node_id = sender_of(member_id(own[-1])) if own else told[-1].node if told else ""  # whoever never said anything
    texts = {message_id_of(log.data_set, post.name): {post.text} for post in rows.posts}
    ballots = [row for row in journal if row.event == BALLOT]
    return _Replica(channel, reader.path, node_id, rows, log, number, hashes, deleted, ballots, texts, _waiting(rows))


def _waiting(rows: Snapshot) -> set[str]:
    """Return the texts in operations in front of the compaction, and in own events: they go when these are settled."""
    codec = TimberCodec()
    operations = [codec.decode_operation(row.raw, row.signature) for row in rows.operations]
    events = [one.body.event for one in operations if isinstance(one, Operation)]
    events += [one for row in rows.outbox if isinstance(one := codec.decode_event(row.raw, row.signature), SignedEvent)]
    return {event.body.text for event in events if event is not None}


def _verdict(
    channel: str, data_set: bytes, replicas: list[_Replica], nicks: Mapping[str, str], findings: list[MembersFinding]
) -> MembersAudit:
    names = {one.node: nicks.get(one.node, "") for one in replicas}
    name = names_by(names)
    called = {node: name(node) for node in names}
    deleted = _deleted(replicas)
    findings = [
        *findings,
        *_checkpoints(replicas, called),
        *_committees(replicas, called),
        *_ballots(replicas, called),
        *_left_over(replicas, deleted),
    ]
    numbers = [one.number for one in replicas] or [0]
    alone = []
    for one in replicas if len(replicas) > 1 else ():
        others = (other.hashes.keys() for other in replicas if other is not one)
        if all(one.hashes.keys().isdisjoint(known) for known in others):
            alone.append(one.node)
    return MembersAudit(channel, data_set.hex(), names, min(numbers), max(numbers), len(deleted), findings, alone)


def _checkpoints(replicas: list[_Replica], called: Mapping[str, str]) -> Iterator[MembersFinding]:
    """Yield the replicas whose checkpoint is no prefix of the others', with the first operation that shows it."""
    told: set[int] = set()
    for number in sorted({number for one in replicas for number in one.hashes}):
        groups: dict[str, list[int]] = defaultdict(list)
        for at, one in enumerate(replicas):
            if number in one.hashes:
                groups[one.hashes[number]].append(at)
        if len(groups) < 2:
            continue
        most = max(groups.values(), key=len)
        others = ", ".join(sorted({called[replicas[at].node] for at in most}))
        for at in sorted(at for group in groups.values() if group is not most for at in group if at not in told):
            told.add(at)
            detail = f"its checkpoint is another at operation {number} than that of {others}"
            yield MembersFinding(replicas[at].channel, replicas[at].node, "checkpoint", detail)


def _committees(replicas: list[_Replica], called: Mapping[str, str]) -> Iterator[MembersFinding]:
    """Yield the replicas whose members differ from those of the one with the furthest compaction."""
    if not replicas:
        return
    first = max(replicas, key=lambda one: one.log.mark.number)
    slots = {row.number: row for row in first.rows.slots}
    for one in replicas:
        of = f"of {called[first.node]}"
        for row in one.rows.slots:
            other = slots.get(row.number)
            if other is None:
                continue
            if row.key != other.key:
                detail = f"member {row.number} is another than that {of}"
            elif row.why and other.why and (row.why, row.last) != (other.why, other.last):
                detail = f"the membership of {called.get(sender_of(member_id(row.key)), row.number)} ended elsewhere"
                detail += f" than in the database {of}"
            else:
                continue
            yield MembersFinding(one.channel, one.node, "committee", detail)
        same = (one.log.mark.number, one.log.turn) == (first.log.mark.number, first.log.turn)
        if same and one.log.electors != first.log.electors:
            yield MembersFinding(one.channel, one.node, "committee", f"its electors are not those {of}")


def _ballots(replicas: list[_Replica], called: Mapping[str, str]) -> Iterator[MembersFinding]:
    """Yield the replicas in whose journal somebody was voted out by fewer members than were needed."""
    for one in replicas:
        for row in one.ballots:
            voters, peer = set(row.deps or ()), row.peer or ""
            if len(voters) < (row.attempt or 1):
                detail = (
                    f"{called.get(peer, peer[:8])} was voted out by {len(voters)} of {row.attempt} that were needed"
                )
                yield MembersFinding(one.channel, one.node, "ballot", detail)


def _deleted(replicas: list[_Replica]) -> dict[str, int]:
    """Return the posts that were deleted, each with the operations after which it was gone from a disk: by a journal,
    or because another replica knows its event and has no such post."""
    found: dict[str, int] = {}
    for one in replicas:
        for message_id, number in one.deleted.items():
            found[message_id] = min(number, found.get(message_id, number))
    for one in replicas:
        here = {post.name for post in one.rows.posts}
        done = {author.slot: author.done for author in one.rows.authors}
        for post in {post.name for other in replicas for post in other.rows.posts} - here:
            if any(low <= post.number <= high for low, high in done.get(post.author, ())):
                message_id = message_id_of(one.log.data_set, post)
                found[message_id] = min(one.log.mark.number, found.get(message_id, one.log.mark.number))
    return found


def _left_over(replicas: list[_Replica], deleted: Mapping[str, int]) -> Iterator[MembersFinding]:
    """Yield the replicas that have compacted a deletion, and have the post or a text of it anywhere in a file."""
    for one in replicas:
        gone = {message_id for message_id, number in deleted.items() if number <= one.log.mark.number}
        back = sorted(gone & one.texts.keys())
        for message_id in back:
            detail = f"the post {message_id[:12]} was deleted, and is among its posts"
            yield MembersFinding(one.channel, one.node, "deleted", detail)
        kept = set(one.waiting).union(*(found for message_id, found in one.texts.items() if message_id not in back))
        known = {text for other in replicas for message_id in gone for text in other.texts.get(message_id, ())}
        wanted = {text.encode() for text in known - kept if len(text.encode()) >= _LEAST}
        for path in sorted(one.path.parent.glob(f"{escape(one.path.name)}*")) if wanted and not back else ():
            if count := _count(path, wanted):
                yield MembersFinding(one.channel, one.node, "deleted", f"{path} has {count} of the deleted texts")


def _count(path: Path, texts: set[bytes]) -> int:
    try:
        raw = path.read_bytes()
    except OSError:
        return 0
    return sum(text in raw for text in texts)
