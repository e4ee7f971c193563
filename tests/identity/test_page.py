"""The example of a signature in `proto/README.md`: its bytes are those that this program writes and checks."""

from __future__ import annotations

import re
import subprocess
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from nacl.signing import SigningKey, VerifyKey

from sdschat.node.view.packet_report import packet_report
from sdschat.sds.ids import text_id
from sdschat.transport.base import Topics
from sdschat.wire.chat_pb2 import PlacedChat
from sdschat.wire.sds_pb2 import Message
from tests.cli.processes import ROOT
from tests.needs import needs_program

PAGE = (ROOT / "proto" / "README.md").read_text(encoding="utf-8").partition("## 7. ")[2]
BLOCKS = re.findall(r"(?m)(?:^    .*\n)+", PAGE)
PACKET, SIGNED = (bytes.fromhex("".join(block.split())) for block in BLOCKS[:2])


def value(raw: bytes | str | int, size: int = 4) -> bytes:
    """Write a value as the page says."""
    data = raw.encode() if isinstance(raw, str) else raw.to_bytes(8) if isinstance(raw, int) else raw
    return len(data).to_bytes(size) + data


def test_the_topic_is_that_of_the_program() -> None:
    name, topic = re.findall(r"`(Café/1)` is `(\S+)`", PAGE)[0]
    assert Topics(name).msg == topic


def test_the_signed_bytes_follow_from_the_packet_by_the_words_of_the_page() -> None:
    packet = Message.FromString(PACKET)
    assert packet.content.startswith(b"SDC2")
    chat = PlacedChat.FromString(packet.content[4:])
    order = re.findall(r"`(\w+)`", PAGE.partition("in this order: ")[2].partition(". ")[0])
    fields: list[Any] = [getattr(chat, name) for name in order]
    assert b"sdschat/content/v2\0" + b"".join(map(value, [packet.channel_id, *fields])) == SIGNED
    entries = b"".join(value(each.message_id) + value(each.sender_id) for each in packet.causal_history)
    assert (chat.history, chat.filter) == (sha256(entries).digest()[:20], sha256(b"").digest()[:20])
    assert packet.sender_id == sha256(chat.author_key).hexdigest()[:32]
    assert packet.message_id == sha256(packet.content).hexdigest()
    assert bytes(SigningKey(bytes(range(32))).verify_key) == chat.author_key
    VerifyKey(chat.author_key).verify(SIGNED, chat.signature)


def test_decode_finds_it_valid() -> None:
    report = packet_report(PACKET)
    assert (report["accepted"], report["content"]["signature"]) == (True, "valid")
    assert not packet_report(PACKET.replace(b"hello", b"hallo"))["accepted"]


def test_an_id_of_bare_text_is_made_as_the_page_says() -> None:
    parts = ("sdschat/text-id/1", "lobby", "ann", 5, "hello")
    made = sha256(b"".join(value(part, 8) for part in parts)).hexdigest()
    assert text_id("lobby", "ann", 5, b"hello") == made


@pytest.mark.parametrize(("tampered", "code"), [(False, 0), (True, 1)])
def test_its_commands_check_the_signature(tmp_path: Path, tampered: bool, code: int) -> None:
    needs_program("openssl")
    text = BLOCKS[1].replace("68656c6c6f", "68616c6c6f") if tampered else BLOCKS[1]
    (tmp_path / "signed.txt").write_text(text)
    script = re.sub("(?m)^    ", "", BLOCKS[2])
    assert subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, capture_output=True).returncode == code
