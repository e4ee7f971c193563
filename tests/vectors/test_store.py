"""Questions to Stores and their answers, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.identity.signing import Identity
from sdschat.node.store_client import envelope
from sdschat.wire import store_codec as codec
from tests.vectors.files import vectors

FILE = vectors("store")
Case = dict[str, Any]


def key(place: list[Any] | None) -> codec.StoreKey | None:
    return codec.StoreKey(*place) if place else None


def query(case: Case) -> codec.StoreQuery:
    asked = case["range"]
    stretch = codec.Range(**{**asked, "after": key(asked["after"])}) if asked else None
    wanted = tuple(codec.WantedMessage(name, bytes.fromhex(hint)) for name, hint in case["wanted"])
    return codec.StoreQuery(
        bytes.fromhex(case["query_id"]), case["store"], case["sent_time"], wanted, stretch, case["confirm"]
    )


def answer(case: Case) -> codec.StoreAnswer:
    items = [codec.Item(name, bytes.fromhex(packet), bytes.fromhex(hint)) for name, packet, hint in case["items"]]
    return codec.StoreAnswer(
        bytes.fromhex(case["query_id"]),
        tuple(items),
        tuple(case["unknown"]),
        case["more"],
        case["floor"],
        case["refused"],
        key(case["last"]),
    )


@pytest.mark.parametrize("case", FILE["queries"])
def test_queries(case: Case) -> None:
    assert codec.encode_query(query(case)).hex() == case["hex"]
    assert codec.decode_query(bytes.fromhex(case["hex"])) == query(case)


@pytest.mark.parametrize("case", FILE["answers"])
def test_answers(case: Case) -> None:
    assert codec.encode_answer(answer(case)).hex() == case["hex"]
    assert codec.decode_answer(bytes.fromhex(case["hex"])) == answer(case)


@pytest.mark.parametrize("case", FILE["letters"], ids=lambda case: case["tag"])
def test_letters(case: Case) -> None:
    author, domain, body = Identity(bytes.fromhex(case["seed"])), case["tag"].encode() + b"\0", case["body"]
    made = envelope.seal(author, domain, case["channel"], case["to"], bytes.fromhex(body))
    assert made.hex() == case["hex"]
    read = envelope.unseal(bytes.fromhex(case["hex"]), codec.MAX_ANSWER_BYTES)
    assert isinstance(read, envelope.SealedQuery)
    assert (read.sender_id, read.sealed.body.hex()) == (author.sender_id, body)
    assert read.proven(domain, case["channel"], case["to"])
    assert not read.proven(domain, case["channel"], author.sender_id)


def test_tags() -> None:
    assert [case["tag"].encode() + b"\0" for case in FILE["letters"]] == [envelope.QUERY, envelope.ANSWER]
