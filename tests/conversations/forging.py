"""Forged packets: made by the test, not by an engine of the conversation."""

from __future__ import annotations

from sdschat.sds.bloom import compact, waku
from sdschat.sds.values import HistoryEntry, Message
from tests.conversations.stage import Stage, duration
from tests.sds.group import CODEC, START


def forged_packet(stage: Stage, fields: dict[str, str]) -> bytes:
    """Return the bytes of a packet with these fields, and keep them under its name, so that it can be repeated."""
    if "bytes" in fields:
        return bytes.fromhex(fields["bytes"])
    content = fields.get("text", "").encode() or None
    message = Message(
        fields["from"],
        stage.id_of(fields["id"]),
        fields.get("channel", "lobby"),
        _clock(fields.get("clock")),
        _entries(stage, fields.get("after"), fields["from"]),
        _filter(stage, fields),
        _entries(stage, fields.get("requests"), None),
        content,
    )
    raw = CODEC.encode(message)
    stage.packets[fields["id"]] = raw
    return raw


def _clock(text: str | None) -> int | None:
    """Read a clock: `+5s` and `-1h` count from the start of the conversation, a bare number is itself."""
    if text is None:
        return None
    return START + duration(text) if text[0] in "+-" else int(text)


def _entries(stage: Stage, names: str | None, sender: str | None) -> tuple[HistoryEntry, ...]:
    """Read entries: `m1,m2`, or `m1@b` to name the original sender."""
    entries = []
    for name in names.split(",") if names else ():
        message, _, author = name.partition("@")
        entries.append(HistoryEntry(stage.id_of(message), None, author or sender))
    return tuple(entries)


def _filter(stage: Stage, fields: dict[str, str]) -> bytes | None:
    """Make a filter that holds the named messages, and `fill` other ids."""
    if "filter" not in fields:
        return None
    ids = [stage.id_of(name) for name in fields["filter"].split(",") if name]
    ids += [f"filling-{place}" for place in range(int(fields.get("fill", "0")))]
    if fields.get("layout") == "waku":
        body = bytearray(waku.BYTES)
        for message_id in ids:
            waku.add(body, message_id)
        return bytes(body)
    shape = compact.shape_for(256, 0.0001)
    value = 0
    for message_id in ids:
        value |= compact.mask(message_id, shape.hashes, shape.bits)
    return compact.encode_window(value, shape, shape.bits, 0)
