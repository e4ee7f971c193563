"""Content, presence and direct messages, byte for byte."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from sdschat.identity.content import (
    ContentKind,
    OpenedContent,
    Verdict,
    check_link,
    open_content,
    open_direct,
    seal,
    seal_as,
    seal_direct,
    sign_link,
)
from sdschat.identity.place import filter_digest, history_digest
from sdschat.identity.presence import PresenceKind, decode_presence, seal_presence
from sdschat.identity.signing import CONTENT_DOMAIN, DIRECT_DOMAIN, Identity
from sdschat.identity.sync_proof import sign_sync, wrong_proof
from sdschat.sds.values import HistoryEntry
from sdschat.wire.chat_codec import Place, decode_envelope, encode_envelope
from sdschat.wire.sync_proof import split_proof
from tests.vectors.files import vectors

FILE = vectors("content")
Case = dict[str, Any]


class NoKeys:
    def knows(self, public_key: bytes) -> bool:
        return False

    def signs(self, sender_id: str) -> bool:
        return False


def identity(seed: str) -> Identity:
    return Identity(bytes.fromhex(seed))


def fields(case: Case) -> dict[str, Any]:
    return {"nick": case["nick"], "sent_time": case["sent_time"], "nonce": bytes.fromhex(case["nonce"])}


def opened(case: Case, key: bytes) -> OpenedContent:
    return OpenedContent(
        Verdict.NEW, case["text"], case["kind"], case["nick"], key, case["sent_time"], case["reply_to"]
    )


@pytest.mark.parametrize("case", FILE["identities"], ids=lambda case: case["seed"][:2])
def test_identities(case: Case) -> None:
    made = identity(case["seed"])
    assert (made.public_key.hex(), made.sender_id) == (case["public_key"], case["sender_id"])


@pytest.mark.parametrize("case", FILE["content"], ids=lambda case: f"{len(case['text'])}-{case['kind']}")
def test_content(case: Case) -> None:
    author, packed = identity(case["seed"]), bytes.fromhex(case["hex"])
    kind = ContentKind(case["kind"])
    said = {"kind": kind, "reply_to": case["reply_to"], **fields(case)}
    assert seal_as(author, CONTENT_DOMAIN, case["channel"], case["text"], **said).hex() == case["hex"]
    envelope = decode_envelope(packed)
    assert envelope is not None
    assert encode_envelope(envelope) == packed
    name = sha256(packed).hexdigest()
    read = open_content(packed, case["channel"], author.sender_id, name, NoKeys())
    assert read._replace(why="") == opened(case, author.public_key)._replace(verdict=Verdict.UNSIGNED)


def place_of(case: Case) -> Place:
    history = history_digest(HistoryEntry(name, None, sender or None) for name, sender in case["history"])
    device, previous, packed = (bytes.fromhex(case[name]) for name in ("device", "previous", "filter"))
    return Place(device, case["sequence"], previous, case["lamport"], history, filter_digest(packed))


@pytest.mark.parametrize("case", FILE["placed"], ids=lambda case: f"{len(case['text'])}-{case['sequence']}")
def test_content_with_its_place(case: Case) -> None:
    author, packed, place = identity(case["seed"]), bytes.fromhex(case["hex"]), place_of(case)
    said = {"kind": ContentKind(case["kind"]), "reply_to": case["reply_to"], **fields(case)}
    assert seal(author, case["channel"], case["text"], place=place, **said).hex() == case["hex"]
    envelope = decode_envelope(packed)
    assert envelope is not None
    assert encode_envelope(envelope) == packed
    read = open_content(packed, case["channel"], author.sender_id, sha256(packed).hexdigest(), NoKeys())
    assert read == opened(case, author.public_key)._replace(place=place)


@pytest.mark.parametrize("case", FILE["presence"], ids=lambda case: f"{case['state']}-{case['text']}")
def test_presence(case: Case) -> None:
    author, packed = identity(case["seed"]), bytes.fromhex(case["hex"])
    nonce = bytes.fromhex(case["nonce"])
    made = seal_presence(
        author,
        case["channel"],
        PresenceKind(case["kind"]),
        nick=case["nick"],
        role=case["text"],
        sent_time=case["sent_time"],
        connection=int.from_bytes(nonce[:8]),
        chance=nonce[8:],
    )
    assert made == packed
    read = decode_presence(packed)
    assert read is not None
    assert (read.nick, read.role, read.sent_time, read.author_key) == (
        case["nick"],
        case["text"],
        case["sent_time"],
        author.public_key,
    )
    assert read.proven(case["channel"], author.sender_id, NoKeys())
    assert not read.proven("another", author.sender_id, NoKeys())


@pytest.mark.parametrize("case", FILE["direct"], ids=lambda case: str(len(case["text"])))
def test_a_direct_message_is_opened(case: Case) -> None:
    author, reader = identity(case["seed"]), identity(case["reader_seed"])
    read = open_direct(reader, bytes.fromhex(case["hex"]), case["channel"], author.sender_id, NoKeys())
    assert read == opened(case, author.public_key)
    assert open_direct(author, bytes.fromhex(case["hex"]), case["channel"], author.sender_id, NoKeys()) is None


@pytest.mark.parametrize("case", FILE["direct"], ids=lambda case: str(len(case["text"])))
def test_what_is_in_the_box_of_a_direct_message(case: Case) -> None:
    """The box has a random key, so only its content is the same each time."""
    author, reader = identity(case["seed"]), identity(case["reader_seed"])
    inside = seal_as(
        author,
        DIRECT_DOMAIN,
        f"{case['channel']}\n{reader.sender_id}",
        case["text"],
        kind=ContentKind.TEXT,
        reply_to="",
        **fields(case),
    )
    body = seal_direct(
        author, reader.public_key, case["channel"], case["text"], reader=reader.sender_id, **fields(case)
    )
    assert reader.unseal(bytes.fromhex(case["hex"])) == reader.unseal(body) == inside


@pytest.mark.parametrize("case", FILE["sync"], ids=lambda case: case["channel"])
def test_the_proof_of_a_sync_message(case: Case) -> None:
    author, packet = identity(case["seed"]), bytes.fromhex(case["packet"])
    made = sign_sync(author, case["channel"], case["counter"], packet)
    assert made.hex() == case["packet"] + case["field"]
    rest, proof = split_proof(made)
    assert rest == packet
    assert proof is not None
    assert proof.counter == case["counter"]
    assert wrong_proof(proof, case["channel"], author.sender_id, packet) == ""
    assert "by another" in wrong_proof(proof, case["channel"], "somebody", packet)
    for channel, body in (("attic", packet), (case["channel"], packet + b"x")):
        assert "did not sign" in wrong_proof(proof, channel, author.sender_id, body)


def test_what_is_no_whole_proof_stays_in_the_packet() -> None:
    made = sign_sync(identity("01" * 32), "lobby", 5, b"packet")
    for cut in range(len(made)):
        assert split_proof(made[:cut]) == (made[:cut], None)
    for bit in range(8 * len(b"packet"), 8 * (len(b"packet") + 4)):
        wrong = bytearray(made)
        wrong[bit // 8] ^= 1 << bit % 8
        assert split_proof(bytes(wrong)) == (bytes(wrong), None)


@pytest.mark.parametrize("case", FILE["link"], ids=lambda case: case["payload"] or "empty")
def test_the_signature_of_a_payload_between_two(case: Case) -> None:
    author, payload = identity(case["seed"]), bytes.fromhex(case["payload"])
    made = sign_link(author, case["channel"], case["reader"], payload)
    assert made.hex() == case["signature"]
    assert check_link(author.public_key, case["channel"], case["reader"], payload, made)
    assert not check_link(author.public_key, case["channel"], case["reader"], payload + b"x", made)
