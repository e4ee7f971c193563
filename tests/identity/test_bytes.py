"""The bytes of a chat line by field, as the page says them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sdschat.identity.signing import Identity
from sdschat.sds.bloom.compact import encode_window, shape_for
from sdschat.sds.config import Config
from sdschat.sds.values import HistoryEntry
from sdschat.wire.chat_codec import PLACED_MAGIC
from sdschat.wire.chat_pb2 import PlacedChat
from sdschat.wire.sds_codec import SdsCodec
from sdschat.wire.sds_pb2 import Message as PbMessage
from tests.identity.signed import signed_message

ANN = Identity(b"a" * 32)
NOW = 1_760_000_000_000
TEXT = "message number 000001"
PAGE = Path(__file__).resolve().parents[2] / "sdschat" / "identity" / "README.md"


def line() -> bytes:
    """Return the packet of a line with two causal ids, and 256 ids in a filter of the default settings."""
    config = Config()
    shape = shape_for(config.bloom_capacity, config.bloom_error_rate)
    assert config.bloom_capacity == 256
    message = signed_message(
        ANN,
        "lobby",
        TEXT,
        NOW,
        sent_time=NOW,
        history=tuple(HistoryEntry(f"{number:064x}", None, f"{number:032x}") for number in (1, 2)),
        bloom_filter=encode_window(1, shape, shape.bits, NOW),
        sequence=300,
        previous="b" * 64,
    )
    return SdsCodec().encode(message)


def by_field(message: Any) -> dict[str, int]:
    """Return the bytes of each field, with its tag."""
    whole = message.SerializeToString()
    found = {}
    for field, _ in message.ListFields():
        rest = type(message)()
        rest.CopyFrom(message)
        rest.ClearField(field.name)
        found[field.name] = len(whole) - len(rest.SerializeToString())
    return found


def test_the_table_of_bytes_is_that_of_a_packet() -> None:
    packet = line()
    outer = PbMessage.FromString(packet)
    inner = PlacedChat.FromString(outer.content[len(PLACED_MAGIC) :])
    found = by_field(outer) | by_field(inner) | {"SDC2": len(PLACED_MAGIC)}
    found["content"] -= len(outer.content)
    found["text"] -= len(TEXT)
    table = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.read_text("utf-8"), re.MULTILINE))
    assert {name: int(count) for name, count in table.items()} == found
    assert sum(found.values()) == len(packet) - len(TEXT) == 1074 < 1100
