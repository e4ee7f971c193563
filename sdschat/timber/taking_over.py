"""A state that takes the place of ours, and the numbers of our own events: others with our key may have made some, in a
copy of this profile, before it was restored, or before our key came here. None is used for two events: of those, others
take one alone.
"""

from __future__ import annotations

from sdschat.timber.core import EngineState
from sdschat.timber.events import Renumbered
from sdschat.timber.replica import Replica
from sdschat.timber.rows import DraftRow, OwnRow, ReplicaTable
from sdschat.timber.values import Kind, PostId, State


def note_numbers(core: EngineState) -> None:
    """Go on behind the numbers of all events of ours that are here."""
    for slot in core.replica.committee.slots:
        if slot.key == core.identity.key:
            settled = core.replica.chat.done.get(slot.number, ())
            _note_number(core, PostId(slot.number, settled[-1][1] if settled else 0))
    for name in core.where:
        _note_number(core, name)


def _note_number(core: EngineState, name: PostId) -> None:
    """Note that there is an event with this name, which may be ours."""
    if name.number <= core.numbers.get(name.author, 0):
        return
    if core.replica.committee.slots[name.author].key == core.identity.key:
        core.numbers[name.author] = name.number
        core.journal.put(OwnRow(name.author, name.number))


def follow_names(core: EngineState) -> None:
    """Follow the events that came into the tree. One of ours waits again where another one has its name."""
    for name in core.named:
        _note_number(core, name)
        if name in core.own and _is_other(core, name, elsewhere=True):
            _wait_again(core, name)
    core.named.clear()


def take_over(core: EngineState, replica: Replica, state: State) -> tuple[PostId, ...]:
    """Let the state of a peer, from which this replica was made, take the place of ours. Return the posts that read
    otherwise now."""
    old, texts = core.replica, _texts(core)
    for slot in old.committee.slots:
        for seq in slot.chain:
            core.journal.drop(ReplicaTable.OPERATION, (slot.number, seq))
    kept = {post.name for post in state.posts}
    before = {PostId(author, number) for _, author, number, _, _ in old.chat.posts.heads()}
    for name in before | old.chat.changed_posts:
        if name not in kept:
            core.journal.drop(ReplicaTable.POST, name)
    for post in state.posts:
        core.journal.put(post)
    core.start(core.data_set, replica)
    core.save_adopted(state)
    _settle_own(core, old)
    core.absorb()
    return tuple(name for name, text in _texts(core).items() if texts.get(name, text) != text)


def _texts(core: EngineState) -> dict[PostId, int]:
    """Return hashes of the texts of all posts that are alive: there may be many, and they may be long."""
    layer = core.front.layer
    found = {post.name: hash(post.text) for post in core.replica.chat.posts if post.name not in layer.gone}
    return found | {post.name: hash(post.text) for post in layer.posts.values()}


def _settle_own(core: EngineState, before: Replica) -> None:
    """Let go of our events that had their effect in the state that we took over, and write the others again."""
    note_numbers(core)
    slots = zip(core.replica.committee.slots, before.committee.slots, strict=False)
    elsewhere = any(now.key == core.identity.key and now.seq > then.seq for now, then in slots)
    for name in sorted(core.own):
        if _is_other(core, name, elsewhere=elsewhere):
            _wait_again(core, name)
        elif core.replica.chat.knows(name):
            core.drop_own(name)
        elif name not in core.replica.front.placed:
            core.lose(name)


def _is_other(core: EngineState, name: PostId, *, elsewhere: bool) -> bool:
    """True if another event has the name of ours. `elsewhere`: somebody else wrote operations with our key."""
    event, node = core.own[name].event, core.where.get(name)
    if node is not None:
        return node.operation.body.event != event
    if not core.replica.chat.knows(name):
        return False
    post = core.replica.chat.posts.get(name)
    if post is None:  # it was deleted, or is no post
        return elsewhere
    body = event.body
    return body.kind is not Kind.SAY or post.time != body.time or (not post.edit and post.text != body.text)


def _wait_again(core: EngineState, name: PostId) -> None:
    """Let an event of ours wait for a number of its own."""
    event = core.own[name].event
    body = event.body
    core.drop_own(name)
    core.inbox.drop(name)
    core.writing.cancel(name)
    core.changes.drop(event)
    core.front.forget()
    if body.kind is Kind.LEAVE and body.author != core.replica.me:
        return  # that membership has ended
    core.last_draft += 1
    draft = DraftRow(core.last_draft, body.kind, body.text, body.target, body.key, body.time)
    core.drafts[draft.number] = draft
    core.journal.put(draft)
    core.events.append(Renumbered(name, draft.number))
