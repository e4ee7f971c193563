"""Tests of presence: the participants online, their roles, and what others can do to them."""

from __future__ import annotations

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.channel.presence import EVERY, FRESH, READERS, SKEW, STORE, STRANGERS, ChannelPresence
from sdschat.node.events import ClockDiffers, PresenceChanged
from sdschat.sds.values import Now

ME, OTHER = Identity(b"m" * 32), Identity(b"o" * 32)
START = 1_800_000_000_000
GONE = PresenceChanged(OTHER.sender_id, "ann", False)
BACK = PresenceChanged(OTHER.sender_id, "ann", True)


class _Keys:
    """A key book that knows nobody but `known`."""

    def __init__(self, *known: str) -> None:
        self.known = set(known)

    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return sender_id in self.known


def at(seconds: float, wrong: int = 0) -> Now:
    """Return the moment so many seconds after the start, by a clock that is wrong by so many milliseconds."""
    return Now(START + round(seconds * 1000) + wrong, round(seconds * 1000))


def presence(
    identity: Identity, role: str = "", began: float = 0, wrong: int = 0, known: _Keys | None = None
) -> ChannelPresence:
    made = ChannelPresence("lobby", identity, known or _Keys())
    made.role = role
    made.begin(at(began, wrong).wall)
    return made


def here(of: ChannelPresence, seconds: float = 0, nick: str = "ann", wrong: int = 0) -> bytes:
    return of.payloads(nick, at(seconds, wrong))[0]


def left(of: ChannelPresence) -> bytes:
    return of.payloads("ann", at(0))[1]


def test_a_store_is_known_by_what_it_signed() -> None:
    mine = presence(ME)
    told = mine.heard(OTHER.sender_id, here(presence(OTHER, STORE), nick="keeper"), at(0))
    assert told == PresenceChanged(OTHER.sender_id, "keeper", True)
    assert mine.roles == {OTHER.sender_id: STORE}


def test_since_when_somebody_is_here_lasts_until_they_go() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    mine.heard(OTHER.sender_id, here(theirs), at(1))
    mine.heard(OTHER.sender_id, here(theirs, 3, nick="anna"), at(3))
    assert mine.came == {OTHER.sender_id: at(1).wall}
    mine.heard(OTHER.sender_id, left(theirs), at(4))
    assert mine.came == {}


def test_those_of_one_nick_are_found_while_they_are_here_and_when_they_left() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    assert mine.called("ann") == set()
    mine.heard(OTHER.sender_id, here(theirs, 1, nick="Ann"), at(1))
    assert mine.called("ann") == {OTHER.sender_id}
    mine.heard(OTHER.sender_id, here(theirs, 3, nick="bob"), at(3))
    assert (mine.called("ann"), mine.called("bob")) == (set(), {OTHER.sender_id})
    mine.heard(OTHER.sender_id, left(theirs), at(4))
    assert mine.called("bob") == {OTHER.sender_id}


def test_a_role_ends_with_the_presence_or_with_another_one() -> None:
    mine, theirs = presence(ME), presence(OTHER, STORE)
    mine.heard(OTHER.sender_id, here(theirs), at(0))
    theirs.role = ""
    assert mine.heard(OTHER.sender_id, here(theirs, 1), at(1)) is None
    assert mine.roles == {}
    theirs.role = STORE
    mine.heard(OTHER.sender_id, here(theirs, 2), at(2))
    assert mine.roles
    assert mine.heard(OTHER.sender_id, left(theirs), at(3)) == GONE
    assert (mine.roles, mine.online, mine.keys) == ({}, {}, {})


def test_an_unsigned_or_unknown_role_counts_for_nothing() -> None:
    mine = presence(ME)
    mine.heard("stranger", b"store", at(0))
    mine.heard(OTHER.sender_id, here(presence(OTHER, "emperor")), at(0))
    assert mine.roles == {}
    assert set(mine.online) == {"stranger", OTHER.sender_id}


@pytest.mark.parametrize("payload", [b"", b"bare text"])
def test_an_emptied_presence_ends_nothing_of_who_signs(payload: bytes) -> None:
    mine, theirs = presence(ME, known=_Keys(OTHER.sender_id)), presence(OTHER)
    mine.heard(OTHER.sender_id, here(theirs), at(0))
    assert mine.heard(OTHER.sender_id, payload, at(1)) is None
    assert mine.online == {OTHER.sender_id: "ann"}
    again = presence(ME, known=_Keys(OTHER.sender_id))
    assert again.heard(OTHER.sender_id, payload, at(1)) is None
    assert again.online == {}


def test_an_emptied_presence_ends_that_of_a_program_that_signs_nothing() -> None:
    mine = presence(ME)
    assert mine.heard("bare", b"x", at(0)) == PresenceChanged("bare", "", True)
    assert mine.heard("bare", b"", at(1)) == PresenceChanged("bare", "", False)


def test_a_presence_that_nobody_signed_counts_while_its_participant_speaks() -> None:
    mine = presence(ME)
    said = {"bare": 60}

    def after(second: int) -> list[PresenceChanged]:
        return mine.advance(at(second), speaks=lambda one: second - said.get(one, -1000) <= 120)

    mine.heard("bare", b"x", at(0), retained=True)
    mine.heard("nobody", b"rubbish", at(0), retained=True)
    assert after(119) == []
    assert after(125) == [PresenceChanged("nobody", "", False)]
    assert after(181) == [PresenceChanged("bare", "", False)]
    said["bare"] = 500
    assert after(505) == [PresenceChanged("bare", "", True)]
    mine.heard("bare", b"", at(506))
    assert after(511) == []
    assert mine.online == {}


def test_who_left_is_not_brought_back_by_what_they_said_before() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    first, later, end = here(theirs), here(theirs, 20), left(theirs)
    mine.heard(OTHER.sender_id, first, at(0))
    assert mine.heard(OTHER.sender_id, end, at(30)) == GONE
    for replayed in (first, later):
        assert mine.heard(OTHER.sender_id, replayed, at(31)) is None
    theirs.begin(at(40).wall)
    assert mine.heard(OTHER.sender_id, here(theirs, 40), at(40)) == BACK


def test_the_end_of_an_earlier_connection_ends_no_later_one() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    end = left(theirs)
    theirs.begin(at(5).wall)
    mine.heard(OTHER.sender_id, here(theirs, 5), at(5))
    assert mine.heard(OTHER.sender_id, end, at(6)) is None
    assert mine.online


def test_nobody_can_end_or_begin_a_presence_of_another() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    mine.heard(OTHER.sender_id, here(theirs), at(0))
    forger = presence(Identity(b"f" * 32), began=9)
    assert mine.heard(OTHER.sender_id, left(forger), at(10)) is None
    assert mine.heard(OTHER.sender_id, here(forger, 10, "mallory"), at(10)) is None
    assert mine.online == {OTHER.sender_id: "ann"}


def test_a_presence_counts_for_two_minutes_unless_it_is_said_again() -> None:
    mine, theirs = presence(ME), presence(OTHER)
    mine.heard(OTHER.sender_id, here(theirs), at(0))
    assert mine.advance(at(119.999)) == []
    mine.heard(OTHER.sender_id, here(theirs, 100), at(100))
    assert mine.advance(at(126)) == []
    assert mine.advance(at(220)) == [GONE]
    assert mine.heard(OTHER.sender_id, here(theirs, 100), at(300)) is None


def test_an_old_presence_counts_for_nothing() -> None:
    mine = presence(ME)
    assert mine.heard(OTHER.sender_id, here(presence(OTHER)), at(FRESH / 1000 + 1), retained=True) is None
    assert mine.online == {}


def test_a_clock_that_is_wrong_counts_when_it_is_seen_to_run() -> None:
    mine, slow = presence(ME), -SKEW + 60_000
    theirs = presence(OTHER, wrong=slow)
    assert mine.heard(OTHER.sender_id, here(theirs, 0, wrong=slow), at(0)) is None
    assert mine.heard(OTHER.sender_id, here(theirs, 45, wrong=slow), at(45)) == BACK
    assert mine.advance(at(166)) == [GONE]
    replayed = [here(theirs, seconds, wrong=slow) for seconds in (200, 245)]
    other = presence(ME)
    assert [other.heard(OTHER.sender_id, one, at(250 + number)) for number, one in enumerate(replayed)] == [None, None]


def test_only_what_is_signed_shows_how_a_clock_runs() -> None:
    """Anybody could hide somebody whose clock is wrong, or have one old presence pass for a clock that is."""
    behind, mine, theirs = -300_000, presence(ME), presence(OTHER, wrong=-300_000)
    forged = presence(Identity(b"f" * 32))
    assert mine.heard(OTHER.sender_id, here(theirs, 0, wrong=behind), at(0)) is None
    assert mine.heard(OTHER.sender_id, here(forged, 40, wrong=behind // 2), at(40)) is None
    assert mine.heard(OTHER.sender_id, here(theirs, 45, wrong=behind), at(45)) == BACK

    day, mine = -86_400_000, presence(ME)
    assert mine.heard(OTHER.sender_id, here(forged, 0, wrong=day), at(0)) is None
    assert mine.heard(OTHER.sender_id, here(presence(OTHER, wrong=day), 45, wrong=day), at(45)) is None


def test_who_is_heard_by_a_new_connection_is_here_though_their_presence_is_lost() -> None:
    for heard in (frozenset({OTHER.sender_id}), frozenset[str]()):
        mine = presence(ME)
        mine.heard(OTHER.sender_id, here(presence(OTHER)), at(0))
        mine.doubt(at(1).mono)
        assert mine.advance(at(5)) == [], "not yet"
        assert mine.advance(at(7), heard.__contains__) == ([] if heard else [GONE])
        assert mine.online.keys() == heard


def test_our_presence_is_repeated_and_said_again_when_somebody_overwrites_it() -> None:
    mine = presence(ME)
    first = here(mine)
    assert due(mine) == EVERY
    mine.heard(ME.sender_id, first, at(10))
    assert due(mine) == EVERY
    mine.heard(ME.sender_id, b"", at(10))
    assert due(mine) == 1000
    here(mine, 10)
    assert due(mine) == 10_000 + EVERY


def due(mine: ChannelPresence) -> int:
    """Return the first millisecond at which our presence is to be said again."""
    found = mine.next_wake()
    assert found is not None
    assert not mine.must_say(Now(START + found - 1, found - 1))
    assert mine.must_say(Now(START + found, found))
    return found


def test_of_a_clock_that_is_far_ahead_it_is_told_once() -> None:
    mine, hour = presence(ME), 3_600_000
    theirs = presence(OTHER, wrong=hour)
    assert mine.heard(OTHER.sender_id, here(theirs, 0, wrong=hour), at(0)) == ClockDiffers(OTHER.sender_id, "ann", hour)
    assert mine.heard(OTHER.sender_id, here(theirs, 45, wrong=hour), at(45)) is None
    assert not mine.online


def test_of_a_clock_that_is_far_behind_it_is_told_when_it_is_seen_to_run() -> None:
    mine, hour = presence(ME), 3_600_000
    theirs = presence(OTHER, wrong=-hour)
    first, second = (here(theirs, seconds, wrong=-hour) for seconds in (0, 45))
    assert mine.heard(OTHER.sender_id, first, at(0)) is None
    assert mine.heard(OTHER.sender_id, first, at(30)) is None, "sent again"
    assert mine.heard(OTHER.sender_id, second, at(100)) is None, "sent later than it was said"
    assert presence(ME).heard(OTHER.sender_id, first, at(0), retained=True) is None
    other = presence(ME)
    assert other.heard(OTHER.sender_id, first, at(0)) is None
    assert other.heard(OTHER.sender_id, second, at(45)) == ClockDiffers(OTHER.sender_id, "ann", -hour)


def test_keys_that_are_made_up_fill_no_log_with_clocks() -> None:
    mine, hour, told = presence(ME), 3_600_000, 0
    for number in range(20):
        key = Identity(bytes([number + 1]) * 32)
        told += mine.heard(key.sender_id, here(presence(key, wrong=hour), 0, wrong=hour), at(0)) is not None
    assert told == 8


def test_our_presence_is_said_again_when_our_clock_was_put_right() -> None:
    mine = presence(ME)
    here(mine, 0, wrong=-3_600_000)
    assert not mine.must_say(at(1, wrong=-3_600_000))
    assert mine.must_say(at(1))


def test_strangers_have_a_share_and_who_spoke_needs_none() -> None:
    keys = _Keys()
    mine = presence(ME, known=keys)
    strangers = [Identity(number.to_bytes(32)) for number in range(1, STRANGERS + 2)]
    for identity in strangers:
        mine.heard(identity.sender_id, here(presence(identity)), at(0))
    assert len(mine.online) == STRANGERS
    keys.known.add(OTHER.sender_id)
    assert mine.heard(OTHER.sender_id, here(presence(OTHER)), at(1)) == BACK
    keys.known.add(strangers[0].sender_id)  # it said something since
    late = strangers[-1]
    assert mine.heard(late.sender_id, here(presence(late), 1), at(1)) is not None
    assert len(mine.online) == STRANGERS + 2


def test_who_signs_sync_messages_is_seen_whatever_presences_came_before() -> None:
    heard: set[str] = set()
    mine = ChannelPresence("lobby", ME, _Keys(), heard.__contains__)
    strangers = [Identity(number.to_bytes(32)) for number in range(1, STRANGERS + READERS + 2)]
    for identity in strangers[:STRANGERS]:
        mine.heard(identity.sender_id, here(presence(identity)), at(0))
    assert mine.heard(OTHER.sender_id, here(presence(OTHER)), at(1)) is None
    heard.add(OTHER.sender_id)
    assert mine.heard(OTHER.sender_id, here(presence(OTHER)), at(2)) == BACK
    heard.update(identity.sender_id for identity in strangers)
    for identity in strangers[STRANGERS:]:
        mine.heard(identity.sender_id, here(presence(identity)), at(3))
    assert len(mine.online) == STRANGERS + READERS


def test_whoever_begins_to_sign_sync_messages_leaves_no_room_to_ever_new_keys() -> None:
    heard: set[str] = set()
    mine = ChannelPresence("lobby", ME, _Keys(), heard.__contains__)
    keys = [Identity(number.to_bytes(32)) for number in range(1, 2 * (STRANGERS + READERS))]
    for identity in keys:
        for moment in (0, 1):
            mine.heard(identity.sender_id, here(presence(identity), moment), at(moment))
            heard.add(identity.sender_id)
    assert len(mine.online) == STRANGERS + READERS


def test_a_recorded_leaving_is_taken_with_the_nick() -> None:
    made = presence(ME)
    made.replay("somebody", "bob", True)
    assert made.called("bob") == {"somebody"}
    made.replay("somebody", "", False)
    made.replay("nobody", "cas", False)
    assert made.online == {}
    assert made.left == {"somebody": "bob"}
    assert (made.nick_of("somebody"), made.called("bob")) == ("bob", {"somebody"})
    assert made.called("cas") == frozenset()
