"""The bytes that are signed, and the messages with a signature: content, presence, direct messages, Store letters."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from tests.vectors.plain import box, curve
from tests.vectors.plain.proto import number, part, sized

Case = dict[str, Any]


def sender_id(key: bytes) -> str:
    return sha256(key).hexdigest()[:32]


def signed_bytes(tag: str, *values: bytes | str | int) -> bytes:
    """The signed bytes: the tag and a zero byte, then each value after its length of four bytes; numbers as eight
    bytes."""
    found = tag.encode() + b"\0"
    for value in values:
        raw = value.encode() if isinstance(value, str) else value
        raw = raw.to_bytes(8, "big") if isinstance(raw, int) else raw
        found += len(raw).to_bytes(4, "big") + raw
    return found


def chat(case: Case, tag: str, channel: str) -> bytes:
    """`SDC1` and a `Chat`. Presence is the same under another tag, with the role in the place of the text."""
    seed, nonce = bytes.fromhex(case["seed"]), bytes.fromhex(case["nonce"])
    key = curve.public_key(seed)
    nick, sent, kind, text, reply_to = (case[name] for name in ("nick", "sent_time", "kind", "text", "reply_to"))
    signature = curve.sign(seed, signed_bytes(tag, channel, key, nonce, nick, sent, kind, text, reply_to))
    fields = sized(1, key) + sized(2, nonce) + sized(3, nick) + number(4, sent) + number(5, kind)
    return b"SDC1" + fields + sized(6, text) + sized(7, reply_to) + sized(15, signature)


def placed(case: Case) -> bytes:
    """`SDC2` and a `PlacedChat`: content with its place."""
    seed, nonce, device = (bytes.fromhex(case[name]) for name in ("seed", "nonce", "device"))
    previous = bytes.fromhex(case["previous"])
    key = curve.public_key(seed)
    nick, sent, kind, text, reply_to = (case[name] for name in ("nick", "sent_time", "kind", "text", "reply_to"))
    sequence, lamport = case["sequence"], case["lamport"]
    history = b"".join(each for entry in case["history"] for each in map(_with_length, entry))
    digests = sha256(history).digest()[:20], sha256(bytes.fromhex(case["filter"])).digest()[:20]
    place = (device, sequence, previous, lamport, *digests)
    values = (case["channel"], key, *place, nick, sent, kind, text, reply_to, nonce)
    signature = curve.sign(seed, signed_bytes("sdschat/content/v2", *values))
    fields = sized(1, key) + sized(2, device) + number(3, sequence) + sized(4, previous) + number(5, lamport)
    fields += sized(6, digests[0]) + sized(7, digests[1]) + sized(8, nick) + number(9, sent) + number(10, kind)
    return b"SDC2" + fields + sized(11, text) + sized(12, reply_to) + sized(13, nonce) + sized(15, signature)


def _with_length(text: str) -> bytes:
    return len(text.encode()).to_bytes(4, "big") + text.encode()


def sync_proof(case: Case) -> bytes:
    """Field 15001 of a sync message, with its tag and length."""
    seed, packet = bytes.fromhex(case["seed"]), bytes.fromhex(case["packet"])
    key = curve.public_key(seed)
    signature = curve.sign(seed, signed_bytes("sdschat/sync/v1", key, case["counter"], case["channel"], packet))
    return part(15001, sized(1, key) + number(2, case["counter"]) + sized(3, signature))


def direct(case: Case) -> bytes:
    """A chat content for one reader, in a sealed box of the reader's key."""
    reader = curve.public_key(bytes.fromhex(case["reader_seed"]))
    content = chat(case, "sdschat/direct/v1", f"{case['channel']}\n{sender_id(reader)}")
    return box.sealed_box(content, curve.curve_public(reader), bytes.fromhex(case["box_secret"]))


def link(seed: bytes, channel: str, reader: str, payload: bytes) -> bytes:
    return curve.sign(seed, signed_bytes("sdschat/link/v1", channel, reader, payload))


def letter(seed: bytes, tag: str, channel: str, to: str, body: bytes) -> bytes:
    """A `Sealed` of `proto/store.proto`."""
    signature = curve.sign(seed, signed_bytes(tag, channel, to, body))
    return sized(1, curve.public_key(seed)) + sized(2, signature) + sized(3, body)


def query(case: Case) -> bytes:
    wanted = b"".join(part(4, sized(1, name) + sized(2, bytes.fromhex(hint))) for name, hint in case["wanted"])
    asked = case["range"]
    stretch = b""
    if asked is not None:
        after = part(3, key(asked["after"])) if asked["after"] else b""
        bounds = number(1, asked["low"]) + number(2, asked["high"])
        stretch = part(5, bounds + after + number(4, asked["newest_first"]) + number(5, asked["limit"]))
    head = sized(1, bytes.fromhex(case["query_id"])) + sized(2, case["store"]) + number(3, case["sent_time"])
    return head + wanted + stretch + number(6, case["confirm"])


def answer(case: Case) -> bytes:
    items = b""
    for name, packet, hint in case["items"]:
        items += part(2, sized(1, name) + sized(2, bytes.fromhex(packet)) + sized(3, bytes.fromhex(hint)))
    unknown = b"".join(sized(3, name) for name in case["unknown"])
    rest = number(4, case["more"]) + number(5, case["floor"]) + sized(6, case["refused"])
    last = part(7, key(case["last"])) if case["last"] else b""
    return sized(1, bytes.fromhex(case["query_id"])) + items + unknown + rest + last


def key(place: tuple[int, str]) -> bytes:
    lamport, message_id = place
    return number(1, lamport) + sized(2, message_id)
