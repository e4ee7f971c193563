"""A member of a members' channel that lies to others: `python -m tests.attacks.false_states [--size 20]`."""

from __future__ import annotations

import signal
from contextlib import closing

from sdschat.timber.states import state_at_compaction
from sdschat.timber.values import (
    CheckpointMark,
    EventBody,
    Kind,
    SignedEvent,
    State,
    StatePage,
    Submit,
    event_bytes,
    sender_of,
)
from tests.attacks.members_channel import CHANNEL, CODEC, LATEST, FalseMember, MembersTarget, send
from tests.attacks.replayed import Listener
from tests.attacks.stage import Stage, main

_FALSE = "said by nobody"


def false_states(stage: Stage, size: int) -> bool:
    """A member gives each other one a state by which that one was removed, with other posts, and asks it to write a
    second first event. The state was taken, and what was written after that event, nobody else took.

    Defended if nobody shows the false posts, everybody is a member and heard, and starts again.
    """
    with closing(Listener(stage.port, 0, 100_000)) as listener:
        target = MembersTarget(stage, listener)
        liar = FalseMember(target)
        for name in target.pipes:
            target.say(name, f"before, by {name}")
        liar.take_part(10)
        for number in range(size):
            for member in liar.others():
                raw = CODEC.encode_state(_without(liar, member, number))
                mark = CheckpointMark(10**6 + number, bytes(32))
                send(target, liar.key, sender_of(member), StatePage(mark, 0, 1, raw))
                send(target, liar.key, sender_of(member), Submit((_second_genesis(liar, number),)))
            liar.take_part(0.2)
        delays = [target.say(name, f"after, by {name}") for name in target.pipes]
        taken, out = target.told("state_taken", sender_id=liar.key.sender_id), target.told("member", status="evicted")
        target.pipes["bob"].kill(signal.SIGTERM)
        target.pipes["bob"] = stage.pipe("bob", "--json-input", channel=CHANNEL)
        delays.append(target.say("bob", "started again"))
        shown = {name: target.texts(name) for name in target.pipes}
    said = {f"{when}, by {name}" for when in ("before", "after") for name in target.pipes} | {"started again"}
    wrong = [name for name, texts in shown.items() if set(texts) != said]
    stage.saw("false states that were taken", taken)
    stage.saw("members who were told that somebody was removed", out)
    stage.saw("members who do not show what was said", wrong)
    stage.saw("seconds until an honest post is shown by all", f"{max(delays):.1f}")
    return not wrong and not taken and not out and max(delays) < LATEST


def _without(liar: FalseMember, member: bytes, number: int) -> State:
    core = liar.engine._core
    core.compact()
    state = state_at_compaction(core.replica)
    if state is None:
        raise TimeoutError("nothing was compacted")
    slot = next(one.slot for one in liar.engine.members() if one.member == member)
    rows = tuple(row._replace(last=row.seq, why="removed") if row.number == slot else row for row in state.slots)
    electors = tuple(one for one in state.electors if one != slot)
    posts = tuple(post._replace(text=_FALSE) for post in state.posts)
    mark = CheckpointMark(state.mark.number + 1000 + number, bytes(32))
    return state._replace(mark=mark, slots=rows, electors=electors, posts=posts, order=())


def _second_genesis(liar: FalseMember, number: int) -> SignedEvent:
    slot, key = liar.engine.me, liar.key
    assert slot is not None
    body = EventBody(Kind.GENESIS, slot, 100 + number, 0, "", None, key.public_key)
    raw = CODEC.encode_event(body)
    return SignedEvent(body, raw, key.sign(event_bytes(liar.engine.data_set, raw)))


if __name__ == "__main__":
    main(false_states, 20, "lies to each member")
