"""A members' channel in the database: made there, pinned to its data set, and read without taking part in it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice, takewhile
from typing import Any, NamedTuple

from sdschat.identity.key_book import SILENCED
from sdschat.identity.members import announce
from sdschat.identity.signing import Identity, verify
from sdschat.node.members.events import MemberPost
from sdschat.node.members.post_log import PostLog, waiting_posts
from sdschat.node.members.record import MembersRecord, load_record, pinned
from sdschat.node.private.record import full_name, new_private
from sdschat.node.private.record import load_record as load_private
from sdschat.store.display_rows import UNREAD_COUNTED
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.store.timber import load_timber, save_timber
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import Ready, TimberEngine
from sdschat.timber.events import Founded
from sdschat.timber.limits import KEY_BYTES
from sdschat.timber.rows import Snapshot
from sdschat.timber.values import Now, message_id_of, sender_of
from sdschat.timber.views import MemberStanding, PostView
from sdschat.transport.base import new_channel, normal_channel
from sdschat.wire.timber_codec import TimberCodec


class MemberStatus(NamedTuple):
    """A member in force, as the operations that are here show it."""

    slot: int
    sender_id: str
    nick: str
    seq: int  # operations written
    missed: int  # operations that its newest one does not know
    limit: int  # of them, at which it counts as silent
    clock: dict[str, int]  # operations that it knows, by slot


class OutsideStatus(NamedTuple):
    """Somebody who was a member and is none now. `standing`: removed (for silence), left, or invited again."""

    sender_id: str
    nick: str
    standing: str


class ChannelStatus(NamedTuple):
    """The state of a members' channel. `phase`: knocking, left, put_out, settled, waiting (for members) or voting."""

    data_set: str
    phase: str
    committee: list[MemberStatus]
    number: int  # of the checkpoint
    last: str
    hash: str
    waiting_for: list[str]  # sender ids
    since: int  # operations in front of the checkpoint
    posts: int
    newest: int  # time of the post that stands last; 0: there is none
    unread: int  # posts of others below the read mark, at most `UNREAD_COUNTED`
    unwritten: int  # events of ours that are not settled, and drafts
    bytes: int
    outside: tuple[OutsideStatus, ...] = ()


def answering(missed: int, limit: int, members: int) -> str:
    """Say how well a member answers, whose newest operation does not know `missed` of the operations held here.

    Any member is a few operations behind while others write. At half of `limit` an honest one writes at once, so that
    only then there is reason to speak of silence; rounds are as many operations as there are members.
    """
    rounds, most = missed // max(1, members), limit // max(1, members)
    if not missed:
        return "up to date"
    if 2 * missed < limit:
        return f"{missed} operation{'' if missed == 1 else 's'} not answered yet"
    if missed < limit:
        return f"quiet for {rounds} of {most} rounds"
    return f"silent for {rounds} rounds, {most} are allowed"


def saved_posts(reader: Reader, channel: str, me: str, nick: str) -> list[MemberPost]:
    """Return the posts that are alive, in order. `me` is our sender id, `nick` our nick."""
    return [placed.post for placed in reversed(list(saved_log(reader, channel, me, nick).before(None)))]


def muted(reader: Reader) -> set[str]:
    """Return the sender ids of those whom the user mutes or ignores."""
    return {sender_id for sender_id, standing, _ in reader.standings() if standing & SILENCED}


def saved_log(reader: Reader, channel: str, me: str, nick: str) -> PostLog:
    """Return the log as it is now. `me` is our sender id; `nick` our nick, if our key went by none yet."""
    engine, record = _engine(reader, channel), load_record(reader, channel)
    data_set = engine.data_set if record is None else record.data_set  # the engine has none before a state came
    waiting = list(waiting_posts(engine.drafts(), data_set, me, nick))
    return _log(engine, {me: nick} | _nicks(reader), me, waiting)


def _log(engine: TimberEngine, nicks: dict[str, str], me: str, waiting: Iterable[MemberPost] = ()) -> PostLog:
    def shown(view: PostView) -> MemberPost:
        post = view.post
        sender = sender_of(engine.person(post.name.author))
        message_id = message_id_of(engine.data_set, post.name)
        name, edited = nicks.get(sender, ""), bool(post.edit)
        answered = "" if post.answers is None else message_id_of(engine.data_set, post.answers)
        own = sender == me
        return MemberPost(message_id, sender, name, post.text, post.time, edited, view.settled, own, answered)

    return PostLog(engine, shown, lambda: waiting)


def saved_status(reader: Reader, channel: str, rounds: int, nick: str, me: str) -> ChannelStatus:
    """Return the state of a members' channel of this profile, whose nick and sender id are ours."""
    record = load_record(reader, channel)
    assert record is not None
    snapshot = load_timber(reader, channel)
    engine = _engine(reader, channel, rounds)
    if snapshot is None or not engine.data_set:
        drafts = 0 if snapshot is None else len(snapshot.drafts)
        return ChannelStatus(record.data_set.hex(), "knocking", [], 0, "", "", [], 0, 0, 0, 0, drafts, 0)
    nicks = {me: nick} | _nicks(reader)
    committee = []
    for member in engine.members():
        sender = sender_of(member.member)
        clock = {str(slot): seq for slot, seq in member.clock}
        committee.append(
            MemberStatus(member.slot, sender, nicks.get(sender, ""), member.seq, member.missed, member.limit, clock)
        )
    waiting = [sender_of(engine.person(slot)) for slot in engine.waiting_for()]
    standing = engine.standing(me)
    if standing in (MemberStanding.LEAVING, MemberStanding.LEFT):
        waiting, phase = [], "left"
    elif standing is MemberStanding.REMOVED:
        waiting, phase = [], "put_out"
    elif standing is not MemberStanding.MEMBER:
        waiting, phase = [], "knocking"
    else:
        phase = _phase(engine, waiting)
    mark, log = engine.checkpoint, _log(engine, nicks, me)
    newest, read = next(log.before(None), None), reader.read_mark(channel)
    below = log.after((0, "") if read is None else (read.lamport, read.message_id))
    hidden = muted(reader) | {me}
    return ChannelStatus(
        record.data_set.hex(),
        phase,
        committee,
        mark.number,
        engine.last_settled().hex(),
        mark.hash.hex(),
        waiting,
        sum(not node.settled for node in engine.operations()),
        len(log),
        0 if newest is None else newest.post.sent_at,
        sum(1 for _ in islice((one for one in below if one.post.sender_id not in hidden), UNREAD_COUNTED)),
        len(snapshot.outbox) + len(snapshot.drafts),
        _size(snapshot),
        tuple(_outside(engine, {one.sender_id for one in committee}, nicks)),
    )


def _outside(engine: TimberEngine, members: set[str], nicks: dict[str, str]) -> Iterator[OutsideStatus]:
    people = dict.fromkeys(sender_of(member) for member in takewhile(bool, map(engine.person, count())))
    for sender in people:
        if sender not in members:
            yield OutsideStatus(sender, nicks.get(sender, ""), str(engine.standing(sender)))


def _phase(engine: TimberEngine, waiting: list[str]) -> str:
    return "voting" if engine.ballot() is not None else "waiting" if waiting else "settled"


def _engine(reader: Reader, channel: str, rounds: int = 8) -> TimberEngine:
    """Return an engine that is only asked: it cannot sign."""
    snapshot = load_timber(reader, channel)
    signer = Signer(bytes(KEY_BYTES), lambda _: b"")
    return TimberEngine(Config(rounds=rounds), signer, TimberCodec(), verify, Now(0, 0), snapshot)


def _nicks(reader: Reader) -> dict[str, str]:
    from sdschat.identity.signing import nicks_by_sender

    return nicks_by_sender(reader.keys())


def _size(snapshot: Snapshot) -> int:
    """Return the bytes of what is kept: texts, operations and events."""

    def weight(value: Any) -> int:
        if isinstance(value, bytes):
            return len(value)
        if isinstance(value, str):
            return len(value.encode())
        if isinstance(value, tuple):
            return sum(map(weight, value))
        return 0 if value is None else 8

    return weight(snapshot)


_NONCE_BYTES = 16


def create_members(store: Store, identity: Identity, name: str, config: Config) -> MembersRecord:
    """Make a members' channel of which this identity is the creator, and keep it. Raises ValueError, for a person."""
    name = new_channel(name)
    if load_record(store, name) is not None:
        raise ValueError(f"You have a members' channel {name} already. Choose another name, or another --profile.")
    if full_name(store, name) != name or store.has_channel(name):
        raise ValueError(
            f"You have a channel {name} of another kind already, and the kind of a channel never changes. "
            "Choose another name, or another --profile."
        )
    data_set, ready = _found(identity, config)
    genesis = next(event.genesis for event in ready.events if isinstance(event, Founded))
    assert genesis is not None
    record = MembersRecord(name, data_set, announce(identity, name, genesis, [identity.public_key], 1))
    with store.transaction() as transaction:
        save_timber(transaction, name, ready.writes)
        record.save(transaction)
    return record


def create_private_members(
    store: Store, identity: Identity, name: str, config: Config, *, admins_invite: bool = False, broker: str = ""
) -> str:
    """Make a members' channel that is private as well, and keep it. Return its full name. Raises ValueError, for a
    person. It is not announced: its data set is in its links."""
    data_set, ready = _found(identity, config)
    private = new_private(store, identity, name, admins_invite=admins_invite, broker=broker, data_set=data_set)
    with store.transaction() as transaction:
        save_timber(transaction, private.name, ready.writes)
        private.save(transaction)
        MembersRecord(private.name, data_set).save(transaction)
    return private.name


def _found(identity: Identity, config: Config) -> tuple[bytes, Ready]:
    """Return a new data set, of which this identity is the only member, and its rows."""
    now = Now(time.time_ns() // 1_000_000, 0)
    engine = TimberEngine(config, Signer(identity.public_key, identity.sign), TimberCodec(), verify, now)
    data_set = engine.found(secrets.token_bytes(_NONCE_BYTES), now)
    return data_set, engine.take()


def pin(store: Store, channel: str, text: str) -> None:
    """Take part in this data set only. Raises ValueError, for a person, where the channel is something else here."""
    name, data_set = normal_channel(channel), pinned(text)
    record = load_record(store, name)
    if record is None:
        if load_private(store, full_name(store, name)) is not None:
            raise ValueError(f"{name} is a private channel here, and the kind of a channel never changes.")
        if store.messages(name):
            raise ValueError(
                f"{name} is an open channel here, with a history, and the kind of a channel never changes."
            )
        with store.transaction() as transaction:
            MembersRecord(name, data_set).save(transaction)
    elif record.data_set != data_set:
        raise ValueError(
            f"{name} is the data set {record.data_set.hex()} here, not {data_set.hex()}. Use another --profile for it."
        )
