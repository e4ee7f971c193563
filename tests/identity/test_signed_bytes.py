"""The bytes under each signature, written out once more: nodes of one program agree with each other whatever they
sign, and so do not show that something is left out."""

from __future__ import annotations

from sdschat.identity.content import check_link, sign_link
from sdschat.identity.members import announce, open_packet, seal_packet
from sdschat.identity.private.link import accept, genesis_digest, make_link, read_link
from sdschat.identity.signing import Identity, key_pair, sign
from sdschat.identity.sync_proof import sign_sync
from sdschat.timber.values import Operation, OperationBody
from sdschat.wire.members_codec import decode_announcement, decode_timber_envelope
from sdschat.wire.private_codec import Genesis
from sdschat.wire.sync_proof import split_proof

ANN, BOB = Identity(b"a" * 32), Identity(b"b" * 32)
SEED = b"1" * 32


def signed(identity: Identity, domain: str, *values: bytes | str | int) -> bytes:
    """Return the signature over the tag and the values, each with its length before it."""
    message = domain.encode() + b"\0"
    for value in values:
        raw = (
            value.to_bytes(8, "big") if isinstance(value, int) else value.encode() if isinstance(value, str) else value
        )
        message += len(raw).to_bytes(4, "big") + raw
    return identity.sign(message)


def test_a_sync_message_is_signed_for_its_channel_with_key_and_counter() -> None:
    _, proof = split_proof(sign_sync(ANN, "lobby", 7, b"packet"))
    assert proof is not None
    assert proof.signature == signed(ANN, "sdschat/sync/v1", ANN.public_key, 7, "lobby", b"packet")


def test_a_payload_for_one_reader_is_signed_for_reader_and_channel() -> None:
    signature = sign_link(ANN, "lobby", BOB.sender_id, b"payload")
    assert signature == signed(ANN, "sdschat/link/v1", "lobby", BOB.sender_id, b"payload")
    assert check_link(ANN.public_key, "lobby", BOB.sender_id, b"payload", signature)
    assert not check_link(ANN.public_key, "lobby", ANN.sender_id, b"payload", signature)


def test_a_packet_of_a_members_channel_is_signed_for_channel_and_data_set() -> None:
    payload = seal_packet(ANN, "garden", b"d" * 32, "ann", b"packet")
    envelope = decode_timber_envelope(payload)
    assert envelope is not None
    expected = signed(ANN, "sdschat/timber/packet/v1", "garden", b"d" * 32, ANN.public_key, "ann", b"packet")
    assert envelope.signature == expected
    assert open_packet(payload, "garden", b"d" * 32, ANN.sender_id) == envelope
    assert isinstance(open_packet(payload, "lobby", b"d" * 32, ANN.sender_id), str)


def test_an_announcement_is_signed_with_all_that_it_says() -> None:
    first = Operation(OperationBody(0, 1, b"", (), bytes(32), 0, 0), b"first operation", b"s" * 64)
    contacts = (ANN.public_key, BOB.public_key)
    one = decode_announcement(announce(ANN, "garden", first, contacts, 3))
    assert one is not None
    expected = signed(ANN, "sdschat/timber/announcement/v1", "garden", first.raw, first.signature, 3, *contacts)
    assert one.signature == expected


def test_an_invite_and_a_joining_are_signed_for_the_digest_of_their_channel() -> None:
    genesis = Genesis(ANN.public_key, bytes(16), "garden", False)
    link = read_link(make_link(ANN, genesis, bytes(32), SEED, uses=2, expires=9, epoch=b"m" * 8), 0)
    digest, (invite_key, secret) = genesis_digest(genesis), key_pair(SEED)
    assert link.invite.signature == signed(ANN, "sdschat/invite/v1", digest, invite_key, 2, 9, b"m" * 8)
    values = b"".join(len(value).to_bytes(4, "big") + value for value in (digest, BOB.public_key, bytes(7) + b"\1"))
    assert accept(link, BOB, silent=True).proof == sign(secret, b"sdschat/join/v1\0" + values)
