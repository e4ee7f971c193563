"""Tests of the payload of a presence topic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.identity.content import Verdict, open_content, seal_as
from sdschat.identity.presence import PresenceKind, decode_presence, seal_presence
from sdschat.identity.signing import CONTENT_DOMAIN, Identity

ALICE, MALLORY = Identity(b"a" * 32), Identity(b"m" * 32)


class _Nobody:
    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return False


NOBODY = _Nobody()


def sealed(kind: PresenceKind = PresenceKind.HERE, connection: int = 7, sent_time: int = 1) -> bytes:
    return seal_presence(
        ALICE,
        "lobby",
        kind,
        nick="alice",
        role="store",
        sent_time=sent_time,
        connection=connection,
        chance=b"8 bytes.",
    )


@pytest.mark.parametrize("kind", PresenceKind)
def test_a_presence_is_proven_for_its_participant_and_its_channel_alone(kind: PresenceKind) -> None:
    presence = decode_presence(sealed(kind))
    assert presence is not None
    assert presence[:3] == (kind, "alice", "store")
    assert (presence.connection, presence.sent_time) == (7, 1)
    assert presence.proven("lobby", ALICE.sender_id, NOBODY)
    assert not presence.proven("lobby", MALLORY.sender_id, NOBODY)
    assert not presence.proven("another", ALICE.sender_id, NOBODY)


def test_no_presence_passes_for_another_kind_or_for_a_message() -> None:
    for kind in PresenceKind:
        presence = decode_presence(sealed(kind))
        assert presence is not None
        assert not presence._replace(kind=1 - kind).proven("lobby", ALICE.sender_id, NOBODY)
        opened = open_content(sealed(kind), "lobby", ALICE.sender_id, "id", NOBODY)
        assert opened.verdict is Verdict.BAD_SIGNATURE
    nonce = bytes(16)
    content = seal_as(
        ALICE, CONTENT_DOMAIN, "lobby", "hello", nick="alice", sent_time=1, nonce=nonce, kind=0, reply_to=""
    )
    said = decode_presence(content)
    assert said is None or not said.proven("lobby", ALICE.sender_id, NOBODY)


def test_later_is_greater_and_the_end_of_a_connection_is_its_last() -> None:
    orders = []
    for kind, connection, date in (
        (PresenceKind.HERE, 7, 1),
        (PresenceKind.HERE, 7, 2),
        (PresenceKind.LEFT, 7, 1),
        (PresenceKind.HERE, 8, 0),
    ):
        presence = decode_presence(sealed(kind, connection, date))
        assert presence is not None
        orders.append(presence.order)
    assert orders == sorted(orders)


@given(st.binary(max_size=300))
def test_decoding_is_total(payload: bytes) -> None:
    for data in (payload, sealed()[:4] + payload):
        presence = decode_presence(data)
        assert presence is None or not presence.proven("lobby", ALICE.sender_id, NOBODY)
