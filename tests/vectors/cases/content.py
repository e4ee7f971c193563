"""Content of messages, presence, and direct messages: signed with seeds that are in the file."""

from __future__ import annotations

from typing import Any

from tests.vectors.cases.filters import DIGESTS, START
from tests.vectors.plain import curve, signed

Case = dict[str, Any]
SEEDS = [f"{at:02x}" * 32 for at in (1, 2, 0xFF)]
NONCE = "000102030405060708090a0b0c0d0e0f"
TEXTS = ["hello", "", "grüße 🙂\nsecond line", "x" * 300]


def file() -> Case:
    return {
        "notes": "Content of format chat (proto/chat.proto; sdschat/identity/signing.py). Seeds are of Ed25519.",
        "identities": [_identity(seed) for seed in SEEDS],
        "content": [_content(case) for case in _contents()],
        "placed": [{**case, "hex": signed.placed(case).hex()} for case in _placed()],
        "sync": [{**case, "field": signed.sync_proof(case).hex()} for case in _syncs()],
        "presence": [_presence("here", "", 0), _presence("here", "store", 0), _presence("left", "", 1)],
        "direct": [{**case, "hex": signed.direct(case).hex()} for case in _directs()],
        "link": [_link(payload) for payload in ("", "00ff")],
    }


def _identity(seed: str) -> Case:
    key = curve.public_key(bytes.fromhex(seed))
    return {"seed": seed, "public_key": key.hex(), "sender_id": signed.sender_id(key)}


def _fields(text: str, **more: object) -> Case:
    usual = {"seed": SEEDS[0], "channel": "lobby", "nonce": NONCE, "nick": "ann", "sent_time": START, "kind": 0}
    return {**usual, "text": text, "reply_to": "", **more}


def _contents() -> list[Case]:
    plain = [_fields(text) for text in TEXTS]
    return [
        *plain,
        _fields("waves", kind=1, nick="Ännchen", channel="größe", seed=SEEDS[1], reply_to=DIGESTS[0]),
        _fields("from 1970", sent_time=0, seed=SEEDS[2]),
    ]


def _content(case: Case) -> Case:
    packed = signed.chat(case, "sdschat/content/v1", case["channel"])
    return {**case, "hex": packed.hex()}


def _placed() -> list[Case]:
    place = {"device": "d0d1d2d3d4d5d6d7", "sequence": 1, "previous": "", "lamport": START}
    first = {**place, "history": [], "filter": "", "nonce": NONCE[:16]}
    later = {**first, "sequence": 300, "previous": DIGESTS[0], "lamport": START + 7}
    named = {"history": [[DIGESTS[0], "ann"], [DIGESTS[1], ""], ["größe", "bob"]], "filter": "c400"}
    return [
        *(_fields(text, **first) for text in TEXTS),
        _fields("waves", kind=1, nick="Ännchen", channel="größe", reply_to=DIGESTS[1], **{**later, **named}),
        _fields("gone soon", seed=SEEDS[2], **{**first, "sequence": 0, "lamport": 0}),
    ]


def _syncs() -> list[Case]:
    case = {"seed": SEEDS[0], "channel": "lobby", "counter": START}
    return [{**case, "packet": "0a0161"}, {**case, "seed": SEEDS[1], "channel": "größe", "packet": "0a016250ff01"}]


def _presence(state: str, role: str, kind: int) -> Case:
    """The nonce is the number of the connection, in eight bytes, and eight random bytes."""
    case = _fields(role, kind=kind)
    domain = {"here": "sdschat/presence/v1", "left": "sdschat/leave/v1"}[state]
    return {**case, "state": state, "hex": signed.chat(case, domain, case["channel"]).hex()}


def _directs() -> list[Case]:
    return [_fields(text, reader_seed=SEEDS[1], box_secret="5a" * 32) for text in TEXTS]


def _link(payload: str) -> Case:
    reader = signed.sender_id(curve.public_key(bytes.fromhex(SEEDS[1])))
    signature = signed.link(bytes.fromhex(SEEDS[0]), "lobby", reader, bytes.fromhex(payload))
    case = {"seed": SEEDS[0], "channel": "lobby", "reader": reader, "payload": payload}
    return {**case, "signature": signature.hex()}
