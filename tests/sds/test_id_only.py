"""Messages kept as ids: equal logs, quiet comparisons, and nothing that is done on their behalf."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.sds.config import Config
from sdschat.sds.events import (
    Delivered,
    DependenciesMissing,
    DuplicateReceived,
    GapClosed,
    KeptAsId,
    PushScheduled,
    RangeDiffered,
)
from sdschat.sds.ids import content_id
from sdschat.sds.limits import IDS_KEPT
from sdschat.sds.values import HistoryEntry, Message, Reason
from tests.sds.group import CODEC, QUIET, START, Group, forge

LIVELY = Config(sync_interval=4000, push_grace=300, push_delay_min=100, push_delay_max=900, t_min=500, t_max=2000)


def keep_id(group: Group, name: str, message: Message) -> None:
    node = group[name]
    node.channel.receive_id(node.shifted(group.now), message)
    group.collect(name)


def test_the_id_is_in_the_log_and_waits_for_nothing() -> None:
    group = Group("a")
    keep_id(group, "a", forge("b", "m", START + 1, "nowhere"))
    assert group["a"].log == ["m"]
    assert len(group["a"].of(KeptAsId)) == 1
    assert not group["a"].of(DependenciesMissing)
    assert not group["a"].of(Delivered)
    assert group["a"].channel.state.packet_of("m") is None


def test_a_message_that_names_it_is_delivered() -> None:
    group = Group("a")
    group.give("a", forge("c", "child", START + 2, "m"))
    assert group["a"].log == []
    keep_id(group, "a", forge("b", "m", START + 1))
    assert group["a"].log == ["m", "child"]
    assert not group["a"].channel.state.requests.missing


def test_our_own_messages_do_not_name_it_also_after_a_restart() -> None:
    group = Group("a")
    group.give("a", forge("c", "in full", START + 1))
    keep_id(group, "a", forge("b", "m", START + 2))
    first = group.say("a", "hello")
    assert [entry.message_id for entry in first.causal_history] == ["in full"]
    keep_id(group, "a", forge("b", "n", group.now.wall))
    group.crash("a")
    second = group.say("a", "again")
    assert [entry.message_id for entry in second.causal_history] == ["in full", first.message_id]


def test_equal_logs_stay_quiet_whoever_has_the_body() -> None:
    group = Group("a", "b", config=LIVELY)
    message = forge("c", "m", START + 1)
    group.give("a", message)
    keep_id(group, "b", message)
    group.tick(60_000)
    assert not [event for name in "ab" for event in group[name].of(RangeDiffered)]
    assert not [event for name in "ab" for event in group[name].of(PushScheduled)]
    assert group["a"].log == group["b"].log == ["m"]


def test_nobody_is_sent_what_is_only_an_id_here() -> None:
    group = Group("a", "b", config=LIVELY)
    keep_id(group, "a", forge("c", "m", START + 1))
    group.tick(60_000)
    assert not group["a"].of(PushScheduled)
    asks = Message("b", "s", "lobby", group.now.wall, repair_request=(HistoryEntry("m", None, "c"),))
    group.give("a", asks)
    group.tick(60_000)
    assert not group["a"].messages("answer")


def test_a_copy_is_a_duplicate() -> None:
    group = Group("a")
    message = forge("b", "m", START + 1)
    keep_id(group, "a", message)
    keep_id(group, "a", message)
    group.give("a", CODEC.encode(message))
    assert group["a"].log == ["m"]
    assert len(group["a"].of(DuplicateReceived)) == 2


def test_what_cannot_be_an_id_of_the_log_is_refused() -> None:
    group = Group("a")
    keep_id(group, "a", forge("b", "ahead", START + QUIET.max_skew + 10_000))
    keep_id(group, "a", Message("b", "sync", "lobby", START))
    keep_id(group, "a", Message("b", "ephemeral", "lobby", content=b"x"))
    keep_id(group, "a", Message("b", "other", "elsewhere", START, content=b"x"))
    keep_id(group, "a", forge("a", "ours", START + 1))
    assert group["a"].log == []
    assert group["a"].refused() == [
        Reason.OVER_LIMIT,
        Reason.OVER_LIMIT,
        Reason.OVER_LIMIT,
        Reason.OTHER_CHANNEL,
        Reason.OWN_ID_UNKNOWN,
    ]


def test_it_ends_our_own_request() -> None:
    group = Group("a")
    group.give("a", Message("b", "s", "lobby", START + 2, (HistoryEntry("m", None, "b"),)))
    assert "m" in group["a"].channel.state.requests.missing
    keep_id(group, "a", forge("b", "m", START + 1))
    assert not group["a"].channel.state.requests.missing


def test_an_id_closes_the_gap_of_a_message_from_before_our_joining() -> None:
    """That message waited for nothing, so the gap is its own and is remembered nowhere else."""
    group = Group("a")
    horizon = group["a"].channel.state.horizon
    group.give("a", forge("b", "child", horizon - 1, "m"))
    keep_id(group, "a", forge("b", "m", horizon - 2))
    assert [event.message_id for event in group["a"].of(GapClosed)] == ["m"]


def refuse(group: Group, name: str, message: Message) -> bool:
    node = group[name]
    kept = node.channel.refuse_claim(node.shifted(group.now), message, Reason.OWN_ID_UNKNOWN, "")
    group.collect(name)
    return kept


def test_a_refused_claim_leaves_its_id_and_what_names_it_waits_for_nothing() -> None:
    group = Group("a")
    claim = forge("a", "never said", START + 1)
    group.give("a", forge("b", "child", START + 2, "never said"))
    assert group["a"].log == []
    assert refuse(group, "a", claim)
    assert group["a"].log == ["never said", "child"]
    assert group["a"].refused() == [Reason.OWN_ID_UNKNOWN]
    assert not group["a"].of(KeptAsId)
    assert [told.message.message_id for told in group["a"].of(Delivered)] == ["child"]
    group.crash("a")
    assert [entry.message_id for entry in group.say("a", "hello").causal_history] == ["child"]


def test_a_claim_that_cannot_be_an_id_of_the_log_leaves_none() -> None:
    group = Group("a")
    assert not refuse(group, "a", forge("a", "ahead", START + QUIET.max_skew + 10_000))
    assert not refuse(group, "a", forge("a", "old", START - IDS_KEPT - 1))
    assert not refuse(group, "a", Message("a", "ephemeral", "lobby", content=b"x"))
    assert not refuse(group, "a", Message("a", "other", "elsewhere", START, content=b"x"))
    assert group["a"].log == []


TRUE = Message("b", content_id(b"true"), "lobby", START + 2, content=b"true")


@pytest.mark.parametrize("way", ["claim", "over a limit"])
def test_the_message_of_which_the_id_is_made_takes_its_place(way: str) -> None:
    group = Group("a")
    false = replace(TRUE, content=b"false")
    if way == "claim":
        refuse(group, "a", replace(false, sender_id="a"))
    else:
        keep_id(group, "a", false)
    group.give("a", replace(TRUE, content=b"also false"))
    assert not group["a"].of(Delivered)
    group.give("a", TRUE)
    assert [told.message.content for told in group["a"].of(Delivered)] == [b"true"]
