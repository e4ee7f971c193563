"""The members that write an event: those whose ids are nearest to its own; and operations that carry none."""

from __future__ import annotations

from sdschat.timber import limits
from sdschat.timber.committee import Slot
from sdschat.timber.core import EngineState
from sdschat.timber.events import Drafted, Rewritten
from sdschat.timber.rows import DraftRow, OutboxRow, OwnRow, ReplicaTable
from sdschat.timber.taking_over import follow_names
from sdschat.timber.values import (
    EventBody,
    Kind,
    Packet,
    PostId,
    Reason,
    SignedEvent,
    Statements,
    Submit,
    distance,
    event_bytes,
    event_id,
)
from sdschat.timber.voting import statements

BACKOFF_AFTER = 16  # empty operations in a row before the heartbeat slows down
BACKOFF_MOST = 6  # doublings
PROMISES = 2  # ballots of one member that are promised in a heartbeat: honest ones open one


def ranked(core: EngineState, event: bytes) -> list[Slot]:
    """Return the members that can write, the nearest to an event's id first."""
    slots = core.replica.committee.slots
    able = [slots[one] for one in core.replica.committee.open if slots[one].leaving is None]
    return sorted(able, key=lambda slot: distance(event, slot.member))


def make_event(core: EngineState, kind: Kind, text: str, target: PostId | None, key: bytes, time: int) -> PostId:
    """Make and save an event of ours, which `route` then gives to its writers."""
    me = core.replica.me
    assert me is not None
    number = max(core.numbers.values(), default=0) + 1  # of all our slots: a later edit has a larger number
    core.numbers[me] = number
    life = core.replica.committee.lives.get(key, 0) if kind is Kind.INVITE else 0
    body = EventBody(kind, me, number, time, text, target, key, life)
    raw = core.codec.encode_event(body)
    event = SignedEvent(body, raw, core.identity.sign(event_bytes(core.data_set, raw)))
    core.add_own(event)
    core.journal.put(OwnRow(me, number))
    core.journal.put(OutboxRow(event.name, raw, event.signature))
    core.routing.set(event.name, core.mono)
    return event.name


def check_text(text: str) -> None:
    """Raise ValueError, for a person, for a text that nobody else would read. Whatever else its author wrote after it
    would be refused too."""
    size = len(text.encode())
    if size > limits.MAX_TEXT_BYTES:
        raise ValueError(f"a post has room for {limits.MAX_TEXT_BYTES:,} bytes, and this text has {size:,}")


def add_draft(core: EngineState, kind: Kind, text: str, target: PostId | None, key: bytes) -> None:
    """Keep what is said without a slot until we have one."""
    core.last_draft += 1
    _keep_draft(core, DraftRow(core.last_draft, kind, text, target, key, core.wall))


def edit_draft(core: EngineState, number: int, text: str) -> None:
    """Change the text of a post that waits until we have a slot."""
    check_text(text)
    _keep_draft(core, _post_in_waiting(core, number)._replace(text=text))


def drop_draft(core: EngineState, number: int) -> None:
    """Take back a post that waits until we have a slot."""
    del core.drafts[_post_in_waiting(core, number).number]
    core.journal.drop(ReplicaTable.DRAFT, (number,))


def _keep_draft(core: EngineState, draft: DraftRow) -> None:
    core.drafts[draft.number] = draft
    core.journal.put(draft)


def _post_in_waiting(core: EngineState, number: int) -> DraftRow:
    draft = core.drafts.get(number)
    if draft is None or draft.kind is not Kind.SAY:
        raise ValueError("no such post waits")
    return draft


def make_drafts(core: EngineState) -> None:
    """Turn what was said without a slot, or under a number that is used, into events, in order."""
    follow_names(core)
    if core.replica.me is None or core.replica.committee.slots[core.replica.me].leaving is not None:
        return
    for draft in sorted(core.drafts.values()):
        name = make_event(core, draft.kind, draft.text, draft.target, draft.key, draft.time)
        core.events.append(Drafted(draft.number, name))
        core.journal.drop(ReplicaTable.DRAFT, (draft.number,))
    core.drafts.clear()


def route(core: EngineState) -> None:
    """Send our own events to the members nearest to them; each time that nobody wrote one, to the next.

    What we said before the event in front of it was written, we write ourselves behind it. Different members would
    write them at the same time, and the lines of one person would stand in any order.
    """
    if core.replica.me is None:
        return
    packets: dict[bytes, list[SignedEvent]] = {}
    for name in core.routing.due(core.mono):
        own = core.own.get(name)
        if own is None or core.known(name):
            continue
        core.routing.set(name, core.mono + core.config.retry)
        members = ranked(core, own.id)
        if not members:
            continue
        me = core.identity.member
        body = own.event.body
        if body.kind is Kind.LEAVE or body.author != core.replica.me or _follows_unwritten(core, body):
            targets = [slot for slot in members if slot.member == me]  # nobody else may, or need
        else:
            first = own.attempts * core.config.redundancy % len(members)
            targets = (members * 2)[first : first + min(core.config.redundancy, len(members))]
        own.attempts += 1
        core.touched.add(own.event)
        for rank, slot in enumerate(targets):
            if slot.member == me:
                _accept(core, own.event, core.config.stagger * rank)
            else:
                packets.setdefault(slot.member, []).append(own.event)
    for member, events in packets.items():
        core.packets += [Packet(member, Submit(some)) for some in limits.in_packets(events)]


def _follows_unwritten(core: EngineState, body: EventBody) -> bool:
    """True if an event of ours in front of this one is not written. An invitation may have to wait, and holds nothing
    up."""
    number = body.number - 1
    while name := next((PostId(one, number) for one in core.numbers if PostId(one, number) in core.own), None):
        if core.own[name].event.body.kind is not Kind.INVITE:
            return not core.known(name)
        number -= 1
    return False


def receive_submit(core: EngineState, peer: bytes, submit: Submit) -> None:
    """Take events to write, or forward them to those that are nearer."""
    slots = core.replica.committee.slots
    if core.replica.me is None or core.replica.committee.member(peer) is None:
        core.refuse(peer, Reason.STRANGER, "events")
        return
    forward: dict[bytes, list[SignedEvent]] = {}
    for event in submit.events:
        name = event.name
        if core.known(name) or name in core.inbox:
            continue
        if event.body.kind is Kind.GENESIS:
            core.refuse(peer, Reason.MALFORMED, "event")  # an operation of ours with it would be refused by everybody
            continue
        if event.body.author >= len(slots) or event.body.kind is Kind.LEAVE:
            core.refuse(peer, Reason.NOT_AUTHOR, "event")
            continue
        author = slots[event.body.author]
        if not core.verify(author.key, event_bytes(core.data_set, event.raw), event.signature):
            core.refuse(peer, Reason.SIGNATURE, "event")
            continue
        if author.last is not None:
            core.refuse(peer, Reason.REMOVED, "event")
            continue
        members = ranked(core, event_id(core.data_set, event.raw))
        rank = next((at for at, slot in enumerate(members) if slot.number == core.replica.me), None)
        if rank is None:
            continue
        far = rank >= core.config.redundancy
        if far and peer != author.member:
            core.refuse(peer, Reason.MISROUTED, "event")
            continue
        if core.inbox.count(event.body.author) >= limits.INBOX_PER_AUTHOR:
            core.refuse(peer, Reason.BUFFER_FULL, "event")
            continue
        if far:
            # The author goes on to those further away when the nearest do not write. Remind them, and wait longer.
            for slot in members[: core.config.redundancy]:
                forward.setdefault(slot.member, []).append(event)
        _accept(core, event, core.config.stagger * min(rank, core.config.redundancy))
    for member, events in forward.items():
        if member not in (peer, core.identity.member):
            core.packets += [Packet(member, Submit(some)) for some in limits.in_packets(events)]


def _accept(core: EngineState, event: SignedEvent, wait: int) -> None:
    name = event.name
    if name not in core.inbox:
        core.inbox.add(event)
        core.writing.set(name, core.mono + wait)


def write_due(core: EngineState) -> None:
    """Write the events whose turn has come. A post comes before what changes it, and an author's events in order."""
    while names := core.writing.due(core.mono):
        for name in names:
            _write_in_order(core, name)


def _write_in_order(core: EngineState, name: PostId) -> None:
    me, event = core.replica.me, core.inbox.get(name)
    if event is None:
        return
    if me is None or core.replica.committee.slots[me].leaving is not None or core.known(name):
        core.inbox.drop(name)
        core.touched.add(event)
        return
    if not _in_order(core, event):
        core.inbox.hold(name)
        core.writing.set(name, core.mono + max(10, core.config.stagger // 4))
        return
    core.inbox.drop(name)
    own = core.own.get(name)
    core.write(event, to_say(core))
    if own is not None and own.lost:
        own.lost = False
        core.events.append(Rewritten(name))


def _in_order(core: EngineState, event: SignedEvent) -> bool:
    body = event.body
    if body.kind is not Kind.SAY and body.target is not None and not core.known(body.target):
        return False
    if body.kind is Kind.INVITE:
        # Whoever is invited again has a slot until we know of its end, which the operation must come after.
        committee = core.replica.committee
        again = committee.lives.get(body.key, 0) <= body.life and committee.slot_of(body.key) is not None
        if again or len(core.replica.front.invitations) >= limits.MAX_INVITATIONS:
            return False
    before = PostId(body.author, body.number - 1)
    return body.number == 1 or core.known(before) or (before not in core.inbox and before not in core.own)


def to_say(core: EngineState) -> Statements:
    """Return what we have to say on a ballot. Answers are given at once, but one ballot a heartbeat is opened: each
    makes everybody write, and where it cannot succeed that would never end. Whoever opens more waits for our promise: a
    promise that comes late is never wrong."""
    core.look_for_silence()
    core.promise_at = {slot: at for slot, at in core.promise_at.items() if core.mono < at}
    said = statements(core.replica, core.config.rounds, core.spared(), frozenset(core.promise_at))
    if said.prepare is not None:
        if core.mono < core.prepare_at:
            return Statements()
        core.prepare_at = core.mono + core.config.heartbeat
    elif said.promise is not None:
        core.promise_at[said.promise.slot] = core.mono + core.config.heartbeat // PROMISES
    return said


def heartbeat_due(core: EngineState) -> int | None:
    """Return the time of our next operation without an event, or None if none is owed.

    One is owed while an event in front of the checkpoint waits, or a compaction for the word of all, and others wrote
    since we did; and while others cannot see that we know of a membership that ended. It is owed at once where our
    newest one is half way to silence, or chance would remove members whose events others write; and where we have just
    been let in, since the checkpoint waits for our first word. After a start it is owed soon: a program may not run for
    as long as a heartbeat, and all would wait for it.
    """
    replica = core.replica
    if replica.me is None:
        return None
    mine = replica.committee.slots[replica.me]
    missed = replica.held - mine.names
    if not mine.seq or 2 * missed >= core.config.rounds * len(replica.committee.open):
        return core.mono
    waits = bool(replica.fresh) and (replica.front.newest is not None or bool(replica.namers))
    knows = mine.closed >= replica.committee.ended
    if not waits and knows:
        return None
    if core.answer_at is not None and (missed or not knows):
        return core.answer_at
    slower = min(BACKOFF_MOST, max(0, core.idle_writes - BACKOFF_AFTER))
    return core.wrote_at + (core.config.heartbeat << slower)


def write_heartbeat(core: EngineState) -> None:
    """Write what we have to say on a ballot at once, and an empty operation where a heartbeat is due."""
    replica = core.replica
    if replica.me is None:
        return
    said = to_say(core)
    due = heartbeat_due(core)
    if any(said) or (due is not None and due <= core.mono):
        if replica.committee.slots[replica.me].leaving is not None:
            said = Statements()
        core.write(None, said)
