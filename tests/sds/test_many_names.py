"""Names cost nothing, so whoever invents many must not be able to stand in the way of those who speak the truth."""

from __future__ import annotations

from dataclasses import replace

from sdschat.sds import limits
from sdschat.sds.config import Config
from sdschat.sds.events import StateChanged
from sdschat.sds.state import ChannelState
from sdschat.sds.values import AckState, Table
from tests.sds.group import CODEC, QUIET, START, Group, forge
from tests.sds.test_pushes import SLOW, holding, lacks_all
from tests.spec.test_s_026_to_040_receive import filter_of

CHATTY = replace(Config(), id_rule="text")


def full_of_filters() -> tuple[Group, str]:
    """An own message, and as many filters that hold it as are remembered, each of which may well be wrong."""
    group = Group("a")
    message_id = group.send("a", "one").message_id
    crowded = filter_of(message_id, *(f"other {place}" for place in range(250)))
    for place in range(limits.MAX_EVIDENCE):
        group.give("a", forge(f"p{place}", f"s{place}", START + 5, content=None, bloom_filter=crowded))
    return group, message_id


def test_a_mention_acknowledges_however_many_filters_hold_the_message() -> None:
    group, message_id = full_of_filters()
    group.give("a", forge("bob", "reply", START + 6, message_id))
    known = group["a"].channel.state.outgoing.known.get(message_id)
    assert known is not None
    assert (known.state, len(known.evidence)) == (AckState.ACKED, limits.MAX_EVIDENCE)


def test_names_that_sign_nothing_make_the_row_of_a_message_grow_no_further_than_a_few() -> None:
    group = Group("a")
    message_id = group.send("a", "one").message_id
    for place in range(2 * limits.MAX_EVIDENCE):
        claim = forge(f"{place:0128}", f"s{place:0127}", START + 5, message_id, content=None)
        group["a"].channel.receive_message(group.now, claim, CODEC.encode(claim), unproven=True)
        group.collect("a")
    row = group["a"].store.tables[Table.OUTGOING][message_id]
    assert len(repr(row)) < 10_000
    group.give("a", forge("bob", "reply", START + 6, message_id))
    known = group["a"].channel.state.outgoing.known[message_id]
    assert (known.state, len(known.unproven)) == (AckState.ACKED, limits.MAX_UNPROVEN)


def test_one_more_filter_takes_the_place_of_none() -> None:
    group, message_id = full_of_filters()
    group.give("a", forge("bob", "s", START + 6, content=None, bloom_filter=filter_of(message_id)))
    known = group["a"].channel.state.outgoing.known.get(message_id)
    assert known is not None
    assert "bob" not in known.evidence


def test_an_equal_range_says_by_which_packet() -> None:
    group = Group("a", "b", config=CHATTY)
    group.tick(2000)
    for place in range(6):
        group.say("a", f"message {place}")
    group.tick(300_000)
    found = [event.evidence for event in group["a"].of(StateChanged) if event.evidence is not None]
    assert {evidence.packet_id[:5] for evidence in found if evidence.how == "range"} == {"sync-"}


def test_ages_of_acknowledged_messages_are_forgotten_whatever_filters_others_send() -> None:
    group = Group("a")
    for place in range(1000):
        message = group.send("a", f"message {place}")
        group.give("a", forge("b", f"b{place}", (message.lamport_timestamp or 0) + 1, message.message_id))
    assert len(group["a"].channel.state.outgoing._ages) < 100


def test_who_inherits_pushes_pays_for_no_more_than_its_share() -> None:
    ids = [f"m{place:04}" for place in range(2 * limits.PUSHES_PER_SENDER)]
    group = holding(*ids, config=SLOW)
    reviews = limits.PUSHES_PER_SENDER // limits.PUSHES_PER_REVIEW
    lacks_all(group, "c", reviews + 1)
    lacks_all(group, "d", 2 * reviews + 1)
    everything = filter_of(*ids, capacity=4096)
    group.give("a", forge("c", "has all", group.now.wall, content=None, bloom_filter=everything))
    pushes = group["a"].channel.state.pushes
    assert (pushes.share("c"), pushes.share("d")) == (0, limits.PUSHES_PER_SENDER)


def test_what_is_missing_anew_is_the_youngest_after_a_restart_too() -> None:
    group = Group("a", config=CHATTY, settle=2000)
    group.give("a", forge("b", "first", group.now.wall))
    group.give("a", forge("b", "child of x", group.now.wall + 1, "x"))
    group.tick(1000)
    group.give("a", forge("b", "child of y", group.now.wall + 2, "y"))
    group.tick(320_000)
    group.give("a", forge("b", "x", group.now.wall + QUIET.max_skew + 60_000))  # deferred, and looked for anew

    def missing(state: ChannelState) -> list[str]:
        return list(state.requests.missing)

    before = missing(group["a"].channel.state)
    group.crash("a")
    assert missing(group["a"].channel.state) == before == ["y", "x"]
