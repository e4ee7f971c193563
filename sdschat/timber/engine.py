"""The engine of Timber for one member and one data set: its verbs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sdschat.timber.chat import CREATOR, Head
from sdschat.timber.config import Config
from sdschat.timber.core import EngineState, Signer
from sdschat.timber.events import Founded, MemberChanged, Report
from sdschat.timber.front import FrontChat
from sdschat.timber.intake import MissingOperation
from sdschat.timber.replica import Replica
from sdschat.timber.restore import load_snapshot, take_snapshot
from sdschat.timber.rows import DraftRow, OwnRow, Snapshot, Write
from sdschat.timber.syncing import Syncing
from sdschat.timber.tree import TreeNode
from sdschat.timber.values import (
    CheckpointMark,
    ClockReading,
    Codec,
    EventBody,
    Kind,
    Message,
    Operation,
    OperationBody,
    Packet,
    Post,
    PostId,
    Reason,
    Refusal,
    SignedEvent,
    StatePage,
    StateWanted,
    Submit,
    Sync,
    Verify,
    checksum,
    event_bytes,
    member_id,
    operation_bytes,
    operation_id,
    sender_of,
)
from sdschat.timber.views import (
    BallotView,
    Delivery,
    MemberStanding,
    MemberView,
    PostView,
    delivery_of,
    standing_of,
    view_ballot,
    view_members,
    view_posts,
)
from sdschat.timber.writing import (
    add_draft,
    check_text,
    drop_draft,
    edit_draft,
    heartbeat_due,
    make_drafts,
    make_event,
    receive_submit,
    route,
    write_due,
    write_heartbeat,
)


class Ready(NamedTuple):
    """Output of a verb, to be carried out in this order: the writes in one transaction, the packets, the events.

    Packets may be sent in any order and each may be lost: what must arrive is in the rows and is sent again.
    """

    writes: tuple[Write, ...]
    packets: tuple[Packet, ...]
    events: tuple[Report, ...]


class TimberEngine:
    """One replica. `receive` takes input from outside and never raises; the other verbs raise ValueError on wrong use.

    After any verb, carry out the result of `take`, and call `advance` at the time that `next_wake` returns.
    """

    def __init__(
        self,
        config: Config,
        identity: Signer,
        codec: Codec,
        verify: Verify,
        now: ClockReading,
        snapshot: Snapshot | None = None,
    ) -> None:
        """`verify` checks a signature by a key, a message and the signature."""
        self._core = EngineState(config, identity, codec, verify, now)
        self._sync = Syncing(self._core)
        if snapshot is not None:
            load_snapshot(self._core, snapshot)

    # A data set.

    def found(self, nonce: bytes, now: ClockReading) -> bytes:
        """Make a data set, with us as its only member, and return its id."""
        core = self._core
        self._tick(now)
        if core.data_set:
            raise ValueError("this replica has a data set already")
        key = core.identity.key
        body = EventBody(Kind.GENESIS, 0, 1, now.wall, nonce.hex(), key=key)
        raw = core.codec.encode_event(body)
        event = SignedEvent(body, raw, core.identity.sign(event_bytes(b"", raw)))
        first = OperationBody(0, 1, b"", (), checksum([]), 0, 0, event)
        raw = core.codec.encode_operation(first)
        operation = Operation(first, raw, core.identity.sign(operation_bytes(b"", raw)))
        data_set = operation_id(b"", raw)
        replica = Replica()
        replica.found(TreeNode(data_set, operation), key)
        replica.changes.clear()
        core.start(data_set, replica)
        core.journal.put(OwnRow(0, 1))
        core.numbers[0] = 1
        core.compact()
        core.events += [Founded(data_set, operation), MemberChanged(0, core.identity.member, "member")]
        self._work()
        return data_set

    def join(
        self, data_set: bytes, contacts: Iterable[bytes], now: ClockReading, shut_out: frozenset[bytes] = frozenset()
    ) -> None:
        """Take part in a data set of others. `contacts`: ids of members, who are asked for its state. `shut_out`: of
        those from whom nobody takes anything any more, by a decision outside of the data set. They count as silent."""
        self._tick(now)
        if self._core.data_set not in (b"", data_set):
            raise ValueError("this replica has another data set")
        self._core.data_set = data_set
        self._core.replica.committee.shut_out = shut_out
        self._sync.contacts = tuple(contacts)
        self._sync.next_at = self._core.mono
        self._work()

    # Events of ours.

    def say(self, text: str, now: ClockReading, answers: PostId | None = None) -> PostId | None:
        """Post a text. Return its name, or None where it has to wait until we are a member."""
        if answers is not None:
            self._check_target(answers, ours=False)
        return self._do(Kind.SAY, now, text, answers)

    def edit(self, post: PostId, text: str, now: ClockReading) -> PostId | None:
        self._check_target(post, ours=True)
        return self._do(Kind.EDIT, now, text, post)

    def delete(self, post: PostId, now: ClockReading) -> PostId | None:
        slots, key = self._core.replica.committee.slots, self._core.identity.key
        self._check_target(post, ours=not slots or slots[CREATOR].key != key)
        return self._do(Kind.DELETE, now, "", post)

    def edit_draft(self, number: int, text: str) -> None:
        """Change a post that waits until we are a member."""
        edit_draft(self._core, number, text)

    def delete_draft(self, number: int) -> None:
        """Take back a post that waits until we are a member."""
        drop_draft(self._core, number)

    def invite(self, key: bytes, now: ClockReading) -> PostId | None:
        if self._core.replica.me is None:
            raise ValueError("only a member can invite")
        if self._core.replica.committee.slot_of(key) is not None:
            raise ValueError("this key is a member's already: after a leave, try again once all members know of it")
        if key in self._core.replica.front.invitations:
            raise ValueError("this key is invited already")
        return self._do(Kind.INVITE, now, key=key)

    def leave(self, now: ClockReading) -> PostId | None:
        if self._core.replica.me is None:
            raise ValueError("only a member can leave")
        return self._do(Kind.LEAVE, now)

    # Input from outside.

    def receive(self, peer: bytes, message: Message | Refusal, now: ClockReading) -> None:
        """Take in what a peer sent: `peer` is its member id, as the transport vouches for it."""
        self._tick(now)
        core = self._core
        match message:
            case Refusal(reason, detail):
                core.refuse(peer, reason, detail)
            case Sync():
                self._sync.receive_sync(peer, message)
            case Submit():
                receive_submit(core, peer, message)
            case StateWanted():
                self._sync.receive_wanted(peer, message)
            case StatePage():
                self._sync.receive_page(peer, message)
            case _:
                pass  # SyncFinished: both hold the same
        self._work()

    def advance(self, now: ClockReading) -> None:
        """Do what is due."""
        self._tick(now)
        self._core.intake.expire(now.mono - 4 * self._core.config.sync_interval)
        self._sync.begin()
        self._work()

    def next_wake(self) -> int | None:
        """Return the time of the next `advance` on the clock that never jumps, or None while there is no data set."""
        core = self._core
        if not core.data_set:
            return None
        times = [core.routing.next() if core.replica.me is not None else None, core.writing.next()]
        times += [heartbeat_due(core), self._sync.next_at]
        spared_until = (since + core.config.heartbeat for since in core.silent_since.values())
        times += [end for end in (*spared_until, *core.promise_at.values()) if core.mono < end]
        return min(time for time in times if time is not None)

    def take(self) -> Ready:
        """Return what to do, once."""
        core = self._core
        core.events += core.refusals.take(core.mono)
        ready = Ready(core.journal.drain(), tuple(core.packets), tuple(core.events))
        core.packets.clear()
        core.events.clear()
        return ready

    def snapshot(self) -> Snapshot:
        """Return the rows on disk once all writes so far are applied."""
        return take_snapshot(self._core)

    def greet(self, peer: bytes, now: ClockReading) -> None:
        """Synchronize with a peer now: it has just come."""
        self._tick(now)
        self._sync.greet(peer)
        self._work()

    # Questions.

    @property
    def data_set(self) -> bytes:
        return self._core.data_set

    @property
    def me(self) -> int | None:
        """Return our slot, while we are a member."""
        return self._core.replica.me

    @property
    def checkpoint(self) -> CheckpointMark:
        return self._core.replica.mark

    @property
    def refusals(self) -> dict[Reason, int]:
        """Return the number of refusals since the start, by reason."""
        return dict(self._core.refusals.by_reason)

    def missing(self) -> list[MissingOperation]:
        """Return the operations that others name and that are not held, the longest missed first."""
        return self._core.intake.missing()

    def posts(self) -> list[PostView]:
        """Return the posts that are alive, in order."""
        return view_posts(self._core)

    def settled_heads(self) -> list[Head]:
        """Return the heads of the posts that are alive at the checkpoint, in order."""
        return self._core.replica.chat.posts.heads()

    @property
    def front(self) -> FrontChat:
        """Return the changes of the checkpoint's posts: operations in front of it, and events that are unwritten."""
        return self._core.front

    def members(self) -> list[MemberView]:
        return view_members(self._core.replica, self._core.config.rounds)

    def ballot(self) -> BallotView | None:
        """Return the ballot under way that has the most supporters, if anybody accepted a value."""
        return view_ballot(self._core.replica)

    def waiting_for(self) -> list[int]:
        """Return the slots of the members whose word keeps the checkpoint from moving. Nobody is waited for where what
        is in front of it carries no event."""
        node = self._core.replica.next()
        if node is None or self._core.replica.front.newest is None:
            return []
        return self._core.replica.committee.lacking(node.operation.body.slot, node.operation.body.seq)

    def operations(self) -> list[TreeNode]:
        """Return the operations in front of the compaction, in linear order."""
        return list(self._core.replica.in_front()) if self._core.replica.tree.first is not None else []

    def open_events(self) -> list[PostId]:
        """Return the names of our events that are not settled, in order."""
        return sorted(self._core.own)

    def last_draft(self) -> int:
        """Return the number of the newest event that waited, or waits, until we are a member."""
        return self._core.last_draft

    def drafts(self) -> list[DraftRow]:
        """Return the events that wait until we are a member, in order."""
        return sorted(self._core.drafts.values())

    def person(self, slot: int) -> bytes:
        """Return the member id behind a slot; empty for one that is not known."""
        slots = self._core.replica.committee.slots
        return slots[slot].member if slot < len(slots) else b""

    def same_person(self, one: int, other: int) -> bool:
        """True if two slots are of one person."""
        return self._core.replica.committee.same_person(one, other)

    def post(self, name: PostId) -> Post | None:
        """Return a post as the checkpoint has it, if it is alive there."""
        return self._core.replica.chat.posts.get(name)

    def last_settled(self) -> bytes:
        """Return the id of the last operation behind the checkpoint; empty where there is none."""
        node = self._core.replica.settled
        return b"" if node is None else node.id

    def alive(self) -> int:
        """Return the number of posts that are alive at the checkpoint."""
        return len(self._core.replica.chat.posts)

    def standing(self, sender_id: str = "") -> MemberStanding:
        """Return the standing of a person; ours without an id."""
        return standing_of(self._core, sender_id or sender_of(self._core.identity.member))

    def admits(self, peer: bytes) -> bool:
        """True if a peer is, or was, a member, or is invited."""
        return self._sync.knows(peer)

    def put_out(self, peer: bytes) -> bool:
        """True if a peer was removed, and is not invited again."""
        replica = self._core.replica
        ends = [slot.why for slot in replica.committee.slots if slot.member == peer]
        invited = any(member_id(key) == peer for key in replica.front.invitations)
        return bool(ends) and ends[-1] == "removed" and "" not in ends and not invited

    def delivery(self, name: PostId) -> Delivery:
        return delivery_of(self._core, name)

    def delivery_changes(self) -> list[PostId] | None:
        """Return the events whose delivery may have changed since the last call; None: all."""
        return self._core.touched.take()

    # Inside.

    def _tick(self, now: ClockReading) -> None:
        self._core.mono, self._core.wall = max(now.mono, self._core.mono), now.wall

    def _check_target(self, post: PostId, *, ours: bool) -> None:
        core = self._core
        if not core.known(post) and post not in core.own:
            raise ValueError("there is no such post")
        if ours and post.author != core.replica.me:
            key = core.identity.key
            if post.author >= len(core.replica.committee.slots) or core.replica.committee.slots[post.author].key != key:
                raise ValueError("only its author can change a post; its author and the creator can delete it")

    def _do(
        self, kind: Kind, now: ClockReading, text: str = "", target: PostId | None = None, key: bytes = b""
    ) -> PostId | None:
        self._tick(now)
        core = self._core
        check_text(text)
        if not core.data_set:
            raise ValueError("there is no data set yet")
        if core.replica.me is None:
            add_draft(core, kind, text, target, key)
            return None
        if self.standing() is MemberStanding.LEAVING:
            raise ValueError("we have left")
        name = make_event(core, kind, text, target, key, now.wall)
        self._work()
        return name

    def _work(self) -> None:
        """Do what follows from a verb, in the order in which one thing leads to the next."""
        core = self._core
        if not core.data_set:
            return
        make_drafts(core)
        route(core)
        write_due(core)
        write_heartbeat(core)
        kept = core.replica.mark.number - core.replica.base.number
        if kept and (core.replica.front.newest is None or kept >= core.config.compact_after):
            core.compact()
        core.tell_silent()
        self._sync.push()
        self._sync.welcome()
