"""`decode` of the packets of members' channels."""

from __future__ import annotations

import json
import subprocess
import sys

from sdschat.identity.members import announce, seal_packet
from sdschat.identity.signing import Identity, verify
from sdschat.node.view.timber_report import timber_report
from sdschat.sds.values import Now
from sdschat.timber.config import Config
from sdschat.timber.core import Signer
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import Founded
from sdschat.timber.values import CheckpointMark, Message, Operation, Sync, operation_id
from sdschat.wire.members_codec import decode_timber_envelope
from sdschat.wire.timber_codec import TimberCodec
from tests.timber.group import Group

IDENTITY = Identity(bytes(32))


def _operations() -> tuple[Operation, ...]:
    group = Group("ann", "bob")
    group.say("ann", "one", "two")
    sent = [packet.message for packet in group["ann"].sent if isinstance(packet.message, Sync)]
    return next(sync.operations for sync in reversed(sent) if sync.operations)


def sealed(message: Message) -> bytes:
    return seal_packet(IDENTITY, "garden", bytes(32), "ann", TimberCodec().encode(message))


def a_sync(*operations: Operation) -> Sync:
    return Sync(CheckpointMark(1, bytes(32)), ((0, 3),), bytes(32), operations)


def test_a_sound_packet_is_told_with_its_fields() -> None:
    report = timber_report(sealed(a_sync(*_operations())))
    assert report is not None
    assert (report["verdict"], report["dialect"], report["kind"], report["nick"]) == ("sound", "timber", "sync", "ann")
    assert report["sender_id"] == IDENTITY.sender_id
    assert report["operations"][0]["seq"] > 0


def test_operations_that_are_not_oldest_first_break_a_rule() -> None:
    one = _operations()[0]
    report = timber_report(sealed(a_sync(one, one)))
    assert report is not None
    assert [found["rule"] for found in report["broken_rules"]] == ["T-059"]


def test_an_announcement_is_told_with_its_data_set_and_checked() -> None:
    now = Now(1_000, 0)
    engine = TimberEngine(Config(), Signer(IDENTITY.public_key, IDENTITY.sign), TimberCodec(), verify, now)
    engine.found(b"nonce", now)
    genesis = next(one.genesis for one in engine.take().events if isinstance(one, Founded))
    assert genesis is not None
    packet = announce(IDENTITY, "garden", genesis, (bytes(32),), 7)
    report = timber_report(packet)
    assert report is not None
    assert (report["verdict"], report["kind"], report["number"]) == ("sound", "announcement", 7)
    assert report["data_set"] == operation_id(b"", genesis.raw).hex()
    forged = timber_report(packet.replace(genesis.signature, bytes(64)))
    assert forged is not None
    assert [found["rule"] for found in forged["broken_rules"]] == ["T-022"]


def test_every_cut_packet_is_no_packet_or_broken() -> None:
    whole = sealed(a_sync(*_operations()))
    envelope = decode_timber_envelope(whole)
    assert envelope is not None
    for size in range(len(envelope.packet)):
        cut = seal_packet(IDENTITY, "garden", bytes(32), "ann", envelope.packet[:size])
        report = timber_report(cut)
        assert report is not None
        assert report["verdict"] == "broken", size
    assert timber_report(whole[:40]) is None


def test_the_command_ends_with_0_for_a_sound_packet_and_1_for_a_broken_one() -> None:
    whole = sealed(a_sync())
    broken = seal_packet(IDENTITY, "garden", bytes(32), "ann", b"\x0a\x01\xff")
    for packet, code in ((whole, 0), (broken, 1)):
        command = [sys.executable, "-m", "sdschat", "decode"]
        done = subprocess.run(command, input=packet.hex(), capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
        assert json.loads(done.stdout)["dialect"] == "timber"
