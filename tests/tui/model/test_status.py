"""The connection, and the fate of a message, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sdschat.node.channel.over_limit import Flood
from sdschat.node.events import CatchingUp, ConnectionChanged
from sdschat.node.view.private import Privacy
from sdschat.node.view.values import Lost, OwnFate, Participant, RetrievalState, SyncStatus
from sdschat.sds.values import AckState, Evidence
from sdschat.tui.model.items import Fate, GapItem, Phase, gap_words
from sdschat.tui.model.status import (
    Health,
    fate_sentence,
    health,
    heard_words,
    last_heard_words,
    offline_words,
    privacy_words,
    provenance,
    sync_words,
)
from tests.tui.model.samples import BOB, NOON, entry, missing, own

LOADING = CatchingUp("loading", 340, 1200, "b" * 32, "bob", 0)
SYNCED = SyncStatus(0, 0, 0, 0)
LOST_IT = ConnectionChanged("disconnected", "mqtt://x", "connection_lost", "The broker hung up.", NOON + 8000)
ON = ConnectionChanged("connected", "mqtt://x")


def test_offline_says_why_counts_down_and_counts_the_outbox() -> None:
    found = offline_words(LOST_IT, SyncStatus(0, 0, 2, 2), NOON)
    assert found == "OFFLINE The broker hung up | retry in 00:08 | 2 in the outbox | /reconnect tries now"


def test_offline_on_purpose_names_the_command_that_ends_it() -> None:
    cut = LOST_IT._replace(why="offline", detail="Taken offline on purpose, by fault injection.", retry_at=0)
    found = offline_words(cut, SyncStatus(0, 0, 1, 1), NOON)
    assert found == "OFFLINE on purpose | 1 in the outbox | /fault online connects again"


def test_the_connection_of_a_recording_is_told_without_what_to_do() -> None:
    assert offline_words(LOST_IT, SYNCED, NOON, recorded=True) == "WAS OFFLINE The broker hung up"


def test_offline_without_a_next_attempt_says_so() -> None:
    assert "no retry by itself" in offline_words(LOST_IT._replace(retry_at=0), SYNCED, NOON)


def test_connecting_to_a_broker_that_has_no_address_yet_leaves_it_out() -> None:
    connecting = LOST_IT._replace(state="connecting", address="")
    assert offline_words(connecting, SYNCED, NOON) == "CONNECTING | what you write is kept"


def test_connected_says_nothing() -> None:
    assert offline_words(ON, SYNCED, NOON) == ""


def test_a_long_reason_gives_way_to_what_one_can_do() -> None:
    lost = LOST_IT._replace(detail="The broker hung up. " * 20)
    found = offline_words(lost, SYNCED, NOON, room=150)
    assert found.startswith("OFFLINE The broker hung up.")
    assert found.endswith("… | retry in 00:08 | what you write is kept | /reconnect tries now")
    assert len(found) <= 150


def test_the_reason_of_a_broker_drives_no_terminal() -> None:
    assert "\x1b" not in offline_words(LOST_IT._replace(detail="\x1b[2Jgone"), SYNCED, NOON)


@pytest.mark.parametrize(
    ("connection", "sync", "history", "expected"),
    [
        (ON, SYNCED, None, "nothing missing"),
        (ON, SyncStatus(2, 0, 0, 0), None, "2 missing"),
        (ON, SyncStatus(0, 0, 0, 0, Flood(100, 3)), None, "100 packets a second from 3 keys: /mute"),
        (ON, SyncStatus(2, 0, 0, 0), LOADING, "loading 340/1200"),
        (ON, SyncStatus(0, 1, 0, 0), None, "1 lost"),
        (ON, SyncStatus(2, 1, 0, 0), None, "2 missing, 1 lost"),
        (LOST_IT, SyncStatus(2, 1, 0, 0), None, "offline"),
        (ConnectionChanged("connecting", ""), SYNCED, None, "connecting"),
    ],
)
def test_the_badge_of_a_channel(
    connection: ConnectionChanged, sync: SyncStatus, history: CatchingUp | None, expected: str
) -> None:
    assert sync_words(connection, sync, history) == expected


@pytest.mark.parametrize(("sync", "expected"), [(SYNCED, "alone"), (SyncStatus(0, 1, 0, 0), "1 lost")])
def test_a_channel_with_nobody_else_here_says_so(sync: SyncStatus, expected: str) -> None:
    assert sync_words(ON, sync, alone=True) == expected


@pytest.mark.parametrize(
    ("connection", "sync", "refused", "expected"),
    [
        (ON, SYNCED, "", Health.GOOD),
        (ON, SyncStatus(1, 0, 0, 0), "", Health.WAITS),
        (ON, SyncStatus(0, 1, 0, 0), "", Health.WAITS),
        (ON, SYNCED, "The broker forbids it.", Health.BAD),
        (LOST_IT, SYNCED, "", Health.BAD),
        (ConnectionChanged("connecting", ""), SYNCED, "", Health.WAITS),
    ],
)
def test_the_urgency_of_a_state(
    connection: ConnectionChanged, sync: SyncStatus, refused: str, expected: Health
) -> None:
    assert health(connection, sync, None, refused) is expected


def test_the_one_heard_last_is_named_with_the_age() -> None:
    assert last_heard_words(people(NOON - 3000), NOON) == "heard bob 3s ago"
    assert last_heard_words(people(0), NOON) == ""
    gone = Participant("ca401", "carol", False, NOON - 1000, False)
    assert last_heard_words([*people(NOON - 3000), gone], NOON) == "heard bob 3s ago", "of those who are here"
    assert last_heard_words([people(0)[0], gone], NOON) == ""


def test_who_came_after_they_were_heard_is_here_without_an_age() -> None:
    back = Participant(BOB, "bob", True, NOON - 60_000, False, came_at=NOON - 2000)
    assert last_heard_words([back], NOON) == ""
    assert heard_words(back, NOON, beside=True) == "here"
    assert heard_words(back, NOON) == "not heard since they came"
    assert heard_words(back._replace(heard_at=NOON - 1000), NOON) == "1s ago"


def test_a_nick_from_right_to_left_leaves_the_age_in_its_place() -> None:
    hebrew = Participant("ca401", "\u05e2\u05de\u05d9", True, NOON - 45_000, False)
    assert last_heard_words([hebrew], NOON) == "heard \u2068\u05e2\u05de\u05d9\u2069 45s ago"


def people(heard_at: int) -> list[Participant]:
    return [Participant("me", "ann", True, 0, True), Participant(BOB, "bob", True, heard_at, False)]


def sentence(fate: Fate, known: OwnFate | None, heard_at: int = NOON, now: int = NOON + 41_000) -> str:
    return fate_sentence(replace(own(0), fate=fate), fate, known, people(heard_at), now)


def test_what_is_not_acknowledged_begins_with_who_lacks_it() -> None:
    known = OwnFate(AckState.UNACKED, 2, NOON + 50_000, ())
    assert sentence(Fate(Phase.UNACKED), known) == (
        "bob has not confirmed: last heard 41s ago, with no word of it; sent again in about 9s. "
        "| written 41s ago, sent 2 times"
    )


def test_queued_says_that_it_is_safe() -> None:
    assert "saved here" in sentence(Fate(Phase.QUEUED), OwnFate(AckState.UNACKED, 0, NOON, ()))


def test_what_the_broker_did_not_take_is_not_called_sent() -> None:
    known = OwnFate(AckState.UNACKED, 1, NOON + 50_000, ())
    assert sentence(Fate(Phase.QUEUED), known) == (
        "The broker has not taken it yet, so nobody could confirm it. | written 41s ago, not taken by the broker yet"
    )


def test_acked_says_who_has_it_and_how_that_is_known() -> None:
    proof = (Evidence(BOB, "mention", "p", NOON, 0.0), Evidence("x" * 32, "filter", "p", NOON, 1e-7))
    found = sentence(Fate(Phase.ACKED, frozenset(("bob",))), OwnFate(AckState.ACKED, 1, 0, proof))
    assert found == (
        "bob is known to have it. | written 41s ago, sent once "
        "| known: bob (named it) | perhaps: <xxxxxxxx> (its filter has it)"
    )


def test_refused_says_why() -> None:
    fate = Fate(Phase.QUEUED, refused="The packet is too large.")
    assert sentence(fate, None).startswith("refused: The packet is too large.")


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        (RetrievalState.WAITING, "we ask in 00:12; bob may answer"),
        (RetrievalState.DUE, "we ask with the next packet; bob may answer"),
        (RetrievalState.ASKED, "asked 2 times; bob may answer; again in 00:12"),
        (RetrievalState.RELYING, "relying on another's request; bob may answer; we ask in 00:12"),
        (RetrievalState.OFF, "not asked for while there is no connection"),
    ],
)
def test_what_becomes_of_a_gap(asking: RetrievalState, expected: str) -> None:
    gap = GapItem(missing(1, asking, attempts=2), (NOON, ""), "carol", "", ("bob",))
    assert gap_words(gap, NOON) == f"1 message by carol missing: {expected}"


def test_where_there_is_little_room_a_gap_says_when_it_is_asked_for() -> None:
    gap = GapItem(missing(1, RetrievalState.ASKED, attempts=2), (NOON, ""), "carol", "dave", ("bob",))
    assert gap_words(gap, NOON, brief=True) == "1 message by carol missing: asked 2 times; again in 00:12"
    alone = gap_words(replace(gap, answerers=()), NOON, brief=True)
    assert alone == "1 message by carol missing: asked 2 times; nobody is here to answer; again in 00:12"


def test_a_lost_message_says_so() -> None:
    gap = GapItem(Lost("e" * 64, BOB, NOON), (NOON, ""), "carol", "")
    assert gap_words(gap, NOON).startswith("1 message by carol is lost")
    assert gap_words(gap, NOON).endswith("It still comes if somebody who has it does")
    assert "still" not in gap_words(gap, NOON, brief=True)


@pytest.mark.parametrize(
    ("person", "expected"),
    [
        (Participant("me", "ann", True, 0, True), "you"),
        (Participant(BOB, "bob", True, NOON - 4000, False), "4s ago"),
        (Participant(BOB, "bob", True, 0, False), "not heard"),
        (Participant(BOB, "bob", False, NOON - 7200_000, False), "not here, heard 2h ago"),
        (Participant(BOB, "bob", False, 0, False), "not here"),
    ],
)
def test_when_somebody_was_heard(person: Participant, expected: str) -> None:
    assert heard_words(person, NOON) == expected


def test_the_list_beside_the_log_says_no_more_than_how_long_ago() -> None:
    """Its headings say who is not here."""
    said = {
        heard_words(Participant(BOB, "bob", here, heard_at, False), NOON, beside=True)
        for here in (True, False)
        for heard_at in (0, NOON - 4000)
    }
    assert said == {"4s ago", "here", ""}


def test_where_a_message_is_from() -> None:
    found = provenance(entry(1, verdict="unsigned", nick="", via="repair"), "10:02:00")
    assert "nobody proven (b0b00000) | 10:02:00 | " in found
    assert "nothing vouches" in found
    assert "came by repair" in found


def test_a_private_channel_says_its_key_and_if_it_is_of_members() -> None:
    assert privacy_words(Privacy(1, 2, is_member=True, of_posts=False)) == "private, key 1"
    assert privacy_words(Privacy(2, 2, is_member=True, of_posts=True)) == "private members, key 2"
    assert privacy_words(Privacy(2, 2, is_member=False, of_posts=True)) == "private members"
