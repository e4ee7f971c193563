"""Packets of private channels, byte for byte."""

from __future__ import annotations

from typing import Any

import pytest

from sdschat.identity.packets import (
    epoch_id_of,
    epoch_key,
    hashed_level,
    open_packet,
    packet_size,
    seal_packet,
    topic_key,
)
from tests.vectors.cases.sealing import xchacha20_poly1305
from tests.vectors.files import vectors

FILE = vectors("sealing")
Case = dict[str, Any]


@pytest.mark.parametrize("case", FILE["packets"], ids=lambda case: f"{len(case['plain']) // 2} bytes")
def test_packets(case: Case) -> None:
    epoch, plain = epoch_key(bytes.fromhex(case["secret"])), bytes.fromhex(case["plain"])
    packet = seal_packet(epoch, case["topic"], plain, bytes.fromhex(case["nonce"]))
    assert (packet.hex(), len(packet)) == (case["packet"], case["size"])
    assert (epoch_id_of(packet) or b"").hex() == case["epoch_id"]
    assert open_packet(epoch, case["topic"], packet) == plain


@pytest.mark.parametrize("case", FILE["levels"], ids=lambda case: case["name"] or "empty")
def test_levels_of_topics(case: Case) -> None:
    assert hashed_level(topic_key(bytes.fromhex(case["salt"])), case["name"]) == case["level"]


def test_sizes() -> None:
    assert [[plain, packet_size(plain)] for plain, _ in FILE["sizes"]] == FILE["sizes"]


def test_the_other_implementation_agrees_with_the_draft() -> None:
    # draft-irtf-cfrg-xchacha-03, A.3.1
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
        b"be it."
    )
    key, nonce = bytes(range(0x80, 0xA0)), bytes(range(0x40, 0x58))
    sealed = xchacha20_poly1305(key, nonce, text, bytes.fromhex("50515253c0c1c2c3c4c5c6c7"))
    assert sealed.hex().startswith("bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb")
    assert sealed[-16:].hex() == "c0875924c1c7987947deafd8780acf49"
