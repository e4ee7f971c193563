"""Release of waiting messages, where many of them turn out to be forged."""

from __future__ import annotations

from sdschat.sds.events import RepairCancelled
from sdschat.sds.limits import MISSING_PER_SENDER
from sdschat.sds.values import Reason
from sdschat.sim.generate import limits
from tests.sds.group import START, Group, forge

LENGTH = 1500
PER_SENDER = 250
CHAIN = START + 10_000


def chain_of_forgeries() -> Group:
    """Each of a chain waits for the one before it and for a parent of its own, which has come and is dated after it:
    released, it is dropped. Nobody who waits in the chain has room left to ask for what was dropped."""
    group = Group("a", settle=2000)
    group.give("a", forge("z", "root", START + 1))
    group.give("a", forge("x", "waits-for-the-first", CHAIN - 4, "first"))
    before = "first"
    for place in range(LENGTH):
        sender, message_id = f"s{place // PER_SENDER}", f"m{place:05}"
        group.give("a", forge(sender, message_id, CHAIN + place, f"p{place:05}", before))
        group.give("a", forge("y", f"p{place:05}", CHAIN + place + LENGTH))
        before = message_id
    group.tick(group.config.lost_after // 2)  # what fills their shares is given up later than what they wait for
    for number in range(LENGTH // PER_SENDER):
        names = [f"nowhere{number}-{other}" for other in range(MISSING_PER_SENDER)]
        for start in range(0, len(names), 32):
            group.give("a", forge(f"s{number}", f"w{number}-{start}", CHAIN - 1, *names[start : start + 32]))
    return group


def test_a_long_chain_of_forgeries_is_dropped_however_long_it_is() -> None:
    group = chain_of_forgeries()
    group.give("a", forge("y", "first", CHAIN - 5))
    assert group["a"].refused().count(Reason.CLOCK_NOT_ABOVE_PARENT) == LENGTH
    assert not any(message_id.startswith("m") for message_id in group["a"].channel.state.incoming.buffered)
    assert "waits-for-the-first" in group["a"].log


def test_giving_up_what_a_long_chain_of_forgeries_waits_for_drops_it_too() -> None:
    group = chain_of_forgeries()
    group.tick(group.config.lost_after // 2 + 1000)
    assert group["a"].refused().count(Reason.CLOCK_NOT_ABOVE_PARENT) == LENGTH
    assert not any(message_id.startswith("m") for message_id in group["a"].channel.state.incoming.buffered)


def test_our_answer_for_what_was_dropped_is_called_off_when_it_is_heard_again() -> None:
    with limits((("BUFFERED_PER_SENDER", 2),)):
        group = Group("a", settle=2000)
        group.give("a", forge("x", "root", START + 1))
        for place in (90, 80):
            group.give("a", forge("b", f"m{place}", START + place, "nowhere"))
        group.give("a", forge("c", "ask", START + 100, content=None, requests=("m90",)))
        assert "m90" in group["a"].channel.state.answers.timers
        group.give("a", forge("b", "m70", START + 70, "nowhere"))  # for which m90 is dropped
        group.give("a", forge("d", "nowhere", START + 50))
        group.give("a", forge("b", "m90", START + 90, "nowhere"))
        assert group["a"].of(RepairCancelled)[-1] == RepairCancelled("m90", "answered_by_other")
        assert "m90" not in group["a"].channel.state.answers.timers
