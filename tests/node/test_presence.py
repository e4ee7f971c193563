"""Tests of presence: the participants online, and their roles."""

from __future__ import annotations

from sdschat.identity.keys import Identity
from sdschat.node.channel.presence import STORE, ChannelPresence
from sdschat.node.events import PresenceChanged

ME, OTHER = Identity(b"m" * 32), Identity(b"o" * 32)


class _Keys:
    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return False


def _presence(identity: Identity, role: str = "") -> ChannelPresence:
    made = ChannelPresence("lobby", identity, _Keys())
    made.role = role
    return made


def test_a_store_is_known_by_what_it_signed() -> None:
    mine = _presence(ME)
    told = mine.heard(OTHER.sender_id, _presence(OTHER, STORE).payload("keeper", 1))
    assert told == PresenceChanged(OTHER.sender_id, "keeper", True)
    assert mine.roles == {OTHER.sender_id: STORE}


def test_a_role_ends_with_the_presence_or_with_another_one() -> None:
    mine = _presence(ME)
    mine.heard(OTHER.sender_id, _presence(OTHER, STORE).payload("keeper", 1))
    assert mine.heard(OTHER.sender_id, _presence(OTHER).payload("keeper", 2)) is None
    assert mine.roles == {}
    mine.heard(OTHER.sender_id, _presence(OTHER, STORE).payload("keeper", 3))
    mine.heard(OTHER.sender_id, b"")
    assert mine.roles == {}


def test_an_unsigned_or_unknown_role_counts_for_nothing() -> None:
    mine = _presence(ME)
    mine.heard("stranger", b"store")
    mine.heard(OTHER.sender_id, _presence(OTHER, "emperor").payload("o", 1))
    assert mine.roles == {}
    assert set(mine.online) == {"stranger", OTHER.sender_id}
