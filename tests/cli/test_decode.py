"""`sdschat decode`: one line a packet, with its dialect, the rules that it breaks, and the exit code."""

from __future__ import annotations

import base64
import json
import os
import pty
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sdschat.cli import decode
from sdschat.identity.packets import epoch_key, seal_packet
from sdschat.identity.presence import CHANCE_BYTES, PresenceKind, seal_presence
from sdschat.identity.signing import Identity
from sdschat.node.view.packet_report import BROKEN, NO_PACKET, SOUND, packet_report
from sdschat.sds.ids import content_id
from sdschat.sds.values import HistoryEntry, Message
from sdschat.transport.segments import Recorded, Spool
from sdschat.wire.nim_codec import EitherCodec, NimCodec
from tests.cli.processes import command, environment, run
from tests.identity.signed import old_content, signed_message
from tests.wire.samples import CODEC, digest, field, vectors
from tests.wire.test_dialects import logos_chat

START = 1_760_000_000_000
GOOD = Message("a", "m", "c", START, (), b"\x01" * 16, (), b"text")
SOUND_LINE = CODEC.encode(GOOD).hex()
BROKEN_LINE = CODEC.encode(Message("a", "m", "c", START // 1000, (), b"\x01", (), b"text")).hex()
VECTORS = vectors()


def decoded(data: bytes, *options: str) -> tuple[int, list[dict[str, Any]]]:
    done = CliRunner().invoke(decode.command, ["-", *options], input=data, standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, [json.loads(line) for line in done.stdout.splitlines()]


def text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def test_the_exit_code_is_that_of_the_worst(tmp_path: Path) -> None:
    assert run(tmp_path, "decode", stdin=text(SOUND_LINE, SOUND_LINE)).returncode == 0
    assert run(tmp_path, "decode", stdin=text(SOUND_LINE, BROKEN_LINE)).returncode == 1
    assert run(tmp_path, "decode", stdin=text("garbage", BROKEN_LINE, SOUND_LINE)).returncode == 2
    assert run(tmp_path, "decode", stdin=text("ffff")).returncode == 2


def test_a_line_is_a_packet_and_a_line_of_output() -> None:
    code, found = decoded(text(SOUND_LINE, "", BROKEN_LINE, base64.b64encode(CODEC.encode(GOOD)).decode()))
    assert code == 1
    assert [(each["line"], each["verdict"]) for each in found] == [(1, SOUND), (3, BROKEN), (4, SOUND)]


def test_a_broken_line_is_told_and_the_others_go_on() -> None:
    code, found = decoded(text(SOUND_LINE, "größe", SOUND_LINE[:-3], "ffff", SOUND_LINE))
    assert code == 2
    assert [each["verdict"] for each in found] == [SOUND, NO_PACKET, NO_PACKET, NO_PACKET, SOUND]
    assert [each["line"] for each in found if "error" in each] == [2, 3, 4]
    assert found[1]["error"] == "the line is neither hex nor base64"


def test_an_encoding_that_was_asked_for_is_the_only_one() -> None:
    assert [each["verdict"] for each in decoded(text(SOUND_LINE), "--as", "hex")[1]] == [SOUND]
    assert [each["verdict"] for each in decoded(text(SOUND_LINE), "--as", "base64")[1]] == [NO_PACKET]
    assert "not hex" in decoded(text("zz" * 8), "--as", "hex")[1][0]["error"]


def test_hex_base64_and_raw_say_the_same(tmp_path: Path) -> None:
    raw = bytes.fromhex(VECTORS[0]["encoded"])
    forms = (raw, raw + b"\n", raw.hex().encode() + b"\n", b"0x" + raw.hex().upper().encode(), base64.b64encode(raw))
    reports = [decoded(form) for form in forms]
    assert all(report == reports[0] for report in reports)
    assert reports[0][1][0]["message_id"] == VECTORS[0]["message_id"]
    file = tmp_path / "packet.bin"
    file.write_bytes(raw)
    assert json.loads(run(tmp_path, "decode", str(file)).stdout) == reports[0][1][0]


def test_raw_packets_one_after_another_are_cut_where_they_end() -> None:
    packets = [CODEC.encode(GOOD), NimCodec().encode(GOOD), logos_chat(), bytes.fromhex(VECTORS[1]["encoded"])]
    code, found = decoded(b"".join(packet + b"\n" for packet in packets))
    assert code == 1
    assert [each["dialect"] for each in found] == ["spec", "nim-sds", "logos-chat", "spec"]
    assert [each["bytes"] for each in found] == [len(packet) for packet in packets]


def test_the_lines_of_a_recording_are_read_and_presences_are_no_broken_messages(tmp_path: Path) -> None:
    identity = Identity(bytes(32))
    here = seal_presence(
        identity, "c", PresenceKind.HERE, nick="ann", role="", sent_time=START, connection=1, chance=b"1" * CHANCE_BYTES
    )
    spool = Spool(tmp_path, "tap")
    for topic, payload in (
        ("sds/1/c/msg", bytes.fromhex(SOUND_LINE)),
        (f"sds/1/c/who/{identity.sender_id}", here),
        (f"sds/1/c/who/{identity.sender_id}", b""),
        ("sds/1/c/msg", bytes.fromhex(BROKEN_LINE)),
    ):
        spool.take(Recorded(START, topic, "c", False, payload))
    spool.close()
    (segment,) = tmp_path.glob("*.jsonl")
    code, lines = decoded(segment.read_bytes())
    assert code == 1
    assert [line["verdict"] for line in lines] == [SOUND, SOUND, SOUND, BROKEN]
    assert lines[0]["message_id"] == "m"
    assert (lines[1]["kind"], lines[1]["nick"], lines[1]["event"]) == ("presence", "ann", "here")
    assert lines[1]["sender_id"] == identity.sender_id
    assert lines[2]["event"] == "cleared"
    code, lines = decoded(text('{"raw": 5}', segment.read_text("utf-8").splitlines()[0][:-5]))
    assert code == 2
    assert "not of `sdschat tap`" in lines[0]["error"]
    assert "its end is missing" in lines[1]["error"]


def test_the_recordings_of_a_folder_come_in_the_order_of_time(tmp_path: Path) -> None:
    for name, at in (("ffff-1", 1), ("aaaa-1", 2), ("bbbb-1", 3)):
        line = {"ts_ms": START + at, "topic": "sds/1/c/msg", "raw": base64.b64encode(CODEC.encode(GOOD)).decode()}
        (tmp_path / f"{name}.jsonl").write_bytes(text(json.dumps(line)))
    (tmp_path / "none.jsonl").write_text("hello\n")
    shown = run(tmp_path, "decode", str(tmp_path)).stdout.splitlines()
    assert [Path(json.loads(line)["file"]).name[:4] for line in shown] == ["none", "ffff", "aaaa", "bbbb"]


def test_output_that_cannot_be_written_is_not_called_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "packets").write_bytes(text(SOUND_LINE))
    with open("/dev/full", "wb") as full:
        call = (*command("decode"), "packets")
        done = subprocess.run(call, cwd=tmp_path, env=environment(tmp_path), stdout=full, stderr=subprocess.PIPE)
    assert done.stderr == b"sdschat: the output cannot be written: No space left on device.\n"


def test_a_newline_inside_a_raw_packet_does_not_cut_it() -> None:
    raw = CODEC.encode(Message("\u010a" * 5, "m", "c", START, (), b"\n" * 16, (), b"\n\n\n"))
    assert [each["verdict"] for each in decoded(raw)[1]] == [SOUND]


def test_a_raw_packet_that_names_several_messages_is_no_text() -> None:
    """The ids of a history entry are hex, and the next entry begins with a byte that is a newline."""
    history = tuple(HistoryEntry(name * 64, sender_id="a" * 32) for name in "bcd")
    packets = [CODEC.encode(replace(GOOD, sender_id="a" * 32, causal_history=history[:count])) for count in (1, 2, 3)]
    for raw in packets:
        found = decoded(raw)[1]
        assert [each["verdict"] for each in found] == [decoded(text(raw.hex()))[1][0]["verdict"]]
        assert "error" not in found[0]
        assert [each["bytes"] for each in decoded(raw[:-9])[1]] == [len(raw) - 9], "cut short"
    assert [each["bytes"] for each in decoded(b"".join(raw + b"\n" for raw in packets))[1]] == list(map(len, packets))


def test_lines_are_explained_as_they_come(tmp_path: Path) -> None:
    done = subprocess.Popen(
        command("decode"), cwd=tmp_path, env=environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert done.stdin is not None
    assert done.stdout is not None
    for _ in range(2):
        done.stdin.write(text(SOUND_LINE))
        done.stdin.flush()
        assert json.loads(done.stdout.readline())["verdict"] == SOUND
    done.communicate()
    assert done.returncode == 0


def test_one_packet_on_a_terminal_is_indented(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    done = subprocess.run(
        command("decode"), cwd=tmp_path, env=environment(tmp_path), input=text(SOUND_LINE), stdout=follower, check=False
    )
    os.close(follower)
    assert done.returncode == 0
    assert os.read(leader, 65536).count(b"\r\n") > 10
    os.close(leader)
    assert len(CliRunner().invoke(decode.command, ["-", "--pretty"], text(SOUND_LINE)).stdout.splitlines()) > 10


def recording(folder: Path, name: str, *packets: bytes) -> Path:
    path = folder / f"{name}.jsonl"
    head = {"topic": "sds/1/c/msg", "channel": "c"}
    lines = (json.dumps(head | {"raw": base64.b64encode(packet).decode()}) for packet in packets)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def named(*words: object) -> tuple[int, list[dict[str, Any]]]:
    done = CliRunner().invoke(decode.command, [str(word) for word in words], standalone_mode=False)
    assert done.exception is None, done.exception
    return done.return_value, [json.loads(line) for line in done.stdout.splitlines()]


def test_of_several_files_each_line_has_its_own(tmp_path: Path) -> None:
    one = recording(tmp_path, "one", CODEC.encode(GOOD))
    two = recording(tmp_path, "two", CODEC.encode(GOOD), bytes.fromhex(BROKEN_LINE))
    code, found = named(one, two)
    assert (code, named(tmp_path)) == (1, (code, found))
    assert [(line["file"], line["line"]) for line in found] == [(str(one), 1), (str(two), 1), (str(two), 2)]
    assert "file" not in named(one)[1][0]


def test_files_are_counted_by_sender_with_the_place_of_the_first_fault(tmp_path: Path) -> None:
    late = CODEC.encode(replace(GOOD, lamport_timestamp=START // 1000))
    one = recording(tmp_path, "one", CODEC.encode(GOOD))
    two = recording(tmp_path, "two", CODEC.encode(GOOD), late, late)
    code, lines = named("--lint", one, two)
    assert (code, [line["event"] for line in lines]) == (1, ["packet", "packet", "sender"])
    assert (lines[1]["file"], lines[1]["line"]) == (str(two), 2)
    (rule,) = lines[2]["broken_rules"]
    assert (rule["rule"], rule["file"], rule["line"], rule["packets"]) == ("S-010", str(two), 2, 2)
    assert lines[2]["packets"] == 4


@pytest.mark.parametrize("what", ["none.hex", "."])
def test_a_file_that_is_not_there_is_named_before_anything_is_printed(tmp_path: Path, what: str) -> None:
    one = recording(tmp_path, "one", CODEC.encode(GOOD))
    (tmp_path / "empty").mkdir()
    wrong = tmp_path / "empty" / what
    done = CliRunner().invoke(decode.command, [str(one), str(wrong)])
    assert (done.stdout, f"{wrong} cannot be read" in str(done.exception)) == ("", True)


def test_a_line_that_no_packet_fills_is_wrong_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.cli.decode._LONGEST_LINE", 10)
    done = CliRunner().invoke(decode.command, ["-"], text(SOUND_LINE)[:-1])
    assert "Line 1 is longer" in str(done.exception)


def test_a_line_takes_little_more_than_its_packet() -> None:
    """Beside the packet there is its id, its line and its JSON: fifteen times the cost of reading the packet alone."""
    content = old_content(Identity(b"a" * 32), "lobby", "hello")
    sender, history = Identity(b"a" * 32).sender_id, (HistoryEntry(digest("x"), None, "b" * 32),) * 2
    messages = [
        Message(sender, str(at), "lobby", START + at, history, b"\x01" * 640, (), content) for at in range(2000)
    ]
    packets = [CODEC.encode(message) for message in messages]
    data = text(*(packet.hex() for packet in packets))
    began = time.process_time()
    for packet in packets:
        CODEC.decode(packet)
    between = time.process_time()
    assert len(decoded(data)[1]) == 2000
    assert time.process_time() - between < 60 * (between - began)


def test_signatures_are_checked_of_the_first_thousand_packets_or_of_all() -> None:
    message = signed_message(Identity(b"a" * 32), "lobby", "hello", START, bloom_filter=b"\x01")
    data = text(*[CODEC.encode(message).hex()] * 1001)
    assert [each["content"]["signature"] for each in decoded(data)[1]] == ["valid"] * 1000 + ["unchecked"]
    assert decoded(data, "--signatures")[1][-1]["content"] == decoded(data)[1][0]["content"]


@pytest.mark.parametrize("vector", VECTORS[::7], ids=lambda vector: str(vector["message_id"])[:8])
def test_packets_of_another_implementation_are_read(vector: dict[str, Any]) -> None:
    report = packet_report(bytes.fromhex(vector["encoded"]), CODEC)
    assert report["accepted"]
    assert report["message_id"] == vector["message_id"]
    assert report["channel_id"] == vector["channel_id"]
    assert str(report["lamport_timestamp"]) == str(vector["lamport_timestamp"])


def rules(packet: bytes) -> list[str]:
    return [found["rule"] for found in packet_report(packet)["broken_rules"]]


def broken(message: Message) -> list[str]:
    return rules(CODEC.encode(message))


def test_every_rule_that_a_packet_breaks_is_listed() -> None:
    four = tuple(HistoryEntry(name) for name in "wxyz")
    assert broken(GOOD) == []
    assert broken(Message("a", "m", "c", START // 1000, (), b"\x01" * 16, (), b"text")) == ["S-010"]
    assert broken(Message("a", "m", "c", START, (), None, (), b"text")) == ["S-024"]
    assert broken(Message("a", "m", "c", START)) == ["S-051"]
    assert broken(Message("a", "m", "c", None, (HistoryEntry("x"),), None, (), b"text")) == ["S-061"]
    assert broken(Message("a", "m", "c", START, (), b"\x01", four, b"text")) == ["S-075"]
    assert broken(Message("a", "m", "c", START, (HistoryEntry("m"),), b"\x01", (), b"text")) == ["S-021"]
    assert broken(Message("a", "m", "c")) == ["S-009"]
    assert broken(Message("", "m", "c", START)) == ["S-002", "S-051"]
    assert broken(Message("a", "", "c", START)) == ["S-003", "S-051"]
    assert broken(Message("a", "m", "", START)) == ["S-004", "S-051"]
    assert rules(CODEC.encode(GOOD) + field(20, b"again")) == ["S-001"]
    assert rules(CODEC.encode(GOOD) + field(11, field(3, "bob"))) == ["S-001"]
    assert rules(b"\xff\xff") == ["S-001"]


BEYOND_BOUNDS = {
    "field_too_long": replace(GOOD, message_id="m" * 200),
    "too_many_entries": replace(GOOD, causal_history=tuple(HistoryEntry(str(at)) for at in range(257))),
    "too_large": replace(GOOD, content=b"x" * 65_536),
}


@pytest.mark.parametrize("reason", BEYOND_BOUNDS)
def test_a_bound_of_nodes_is_named_by_its_reason(reason: str) -> None:
    report = packet_report(CODEC.encode(BEYOND_BOUNDS[reason]))
    assert (report["verdict"], report["accepted"], report["reason"]) == (BROKEN, False, reason)
    assert report["broken_rules"] == [{"rule": reason, "what": report["detail"]}]


@pytest.mark.parametrize(
    ("lamport", "reason"), [(0, "clock_zero"), (2**43, "clock_too_large"), (2**63, "clock_too_large")]
)
def test_a_clock_that_nodes_refuse_is_not_accepted(lamport: int, reason: str) -> None:
    report = packet_report(CODEC.encode(replace(GOOD, lamport_timestamp=lamport)))
    assert (report["accepted"], report["reason"]) == (False, reason)


def test_what_its_author_did_not_sign_is_not_accepted() -> None:
    ann = Identity(b"a" * 32)
    signed = signed_message(ann, "lobby", "hello", START, bloom_filter=b"\x01" * 16)
    moved, forged = (replace(signed, lamport_timestamp=START + 1), replace(signed, channel_id="attic"))
    reports = [packet_report(CODEC.encode(each)) for each in (signed, moved, forged)]
    assert [report["accepted"] for report in reports] == [True, False, False]
    assert [report["broken_rules"] for report in reports] == [
        [],
        [{"rule": "altered", "what": "its author signed another Lamport time"}],
        [{"rule": "altered", "what": "its author did not sign this, or not for this channel"}],
    ]


def test_a_recorded_packet_of_another_channel_is_not_accepted() -> None:
    line = {"topic": "sds/1/attic/msg", "channel": "attic", "raw": base64.b64encode(CODEC.encode(GOOD)).decode()}
    _, (report,) = decoded(text(json.dumps(line)))
    assert (report["accepted"], report["reason"]) == (False, "other_channel")
    assert report["broken_rules"] == [{"rule": "S-004", "what": "channel_id is c, on the topic of attic"}]


def test_a_packet_is_judged_after_those_before_it_in_its_channel() -> None:
    other = CODEC.encode(replace(GOOD, content=b"other")).hex()
    elsewhere = CODEC.encode(replace(GOOD, channel_id="d", content=b"other")).hex()
    code, found = decoded(text(SOUND_LINE, other, elsewhere))
    assert code == 1
    assert [each.get("reason") for each in found] == [None, "id_conflict", None]


def test_hex_digits_may_stand_in_pairs() -> None:
    raw = CODEC.encode(GOOD)
    _, found = decoded(text(raw.hex(" "), raw.hex(":"), raw.hex(" ").upper(), f"sds/1/c/msg {raw.hex(' ')}"))
    assert [each["verdict"] for each in found] == [SOUND] * 4


def test_a_topic_before_a_packet_says_what_it_is() -> None:
    sealed = seal_packet(epoch_key(b"s" * 32), "sds/1/ex/msg", b"", b"n" * 24).hex()
    lines = (
        f"sds/1/c/msg {SOUND_LINE}",
        f"sds/1/caf%C3%A9/msg {SOUND_LINE}",
        "sds/1/c/sync/a/b 0a00",
        "sds/1/c/who/a ",
        f"sds/1/ex/msg {sealed}",
        sealed,
        "sds/1/c/msg zz",
    )
    _, found = decoded(text(*lines))
    assert [each["verdict"] for each in found] == [SOUND, BROKEN, SOUND, SOUND, NO_PACKET, NO_PACKET, NO_PACKET]
    assert found[1]["broken_rules"] == [{"rule": "S-004", "what": "channel_id is c, on the topic of café"}]
    assert [each["kind"] for each in found[2:4]] == ["mvds", "presence"]
    assert all("private channel" in each["error"] for each in found[4:6])


def test_an_unknown_filter_breaks_no_rule_and_is_noted() -> None:
    report = packet_report(CODEC.encode(replace(GOOD, bloom_filter=b"x" * 33)))
    assert (report["verdict"], report["notes"]) == (SOUND, ["bloom_filter is ignored: unknown layout of 33 bytes"])


def test_the_rules_that_each_dialect_breaks() -> None:
    older = field(1, "s") + field(2, "m") + field(3, "c") + field(10, 7) + field(12, b"\x01") + field(20, b"x")
    nameless = field(2, "m") + field(3, "c") + field(10, 7) + field(11, "m0") + field(20, b"x")
    nim = field(1, "m") + field(2, START // 1000) + field(3, field(1, "m0")) + field(4, "c") + field(5, b"hello")
    assert rules(older) == ["S-001", "S-010"]
    assert rules(nameless) == ["S-001", "S-001", "S-002", "S-010", "S-024"]
    assert rules(nim) == ["S-001", "S-002", "S-010", "S-024"]
    assert rules(logos_chat()) == ["S-001", "S-001", "S-010", "S-024"]


def test_an_entry_without_an_id_is_named_in_a_packet_of_nim_sds() -> None:
    packet = (
        field(1, "m") + field(2, START) + field(3, field(3, "bob")) + field(4, "c") + field(6, b"f") + field(7, "s")
    )
    (_, entry) = packet_report(packet + field(5, b"hello"))["broken_rules"]
    assert entry["rule"] == "S-001"
    assert entry["what"].startswith("causal_history[0].message_id is missing, for which nim-sds 0.4 drops")


def test_another_dialect_is_explained_in_the_words_of_the_specification() -> None:
    report = packet_report(logos_chat())
    assert (report["dialect"], report["accepted"], report["kind"]) == ("logos-chat", False, "content")
    assert report["causal_history"] == [{"message_id": digest("parent"), "sender_id": "bob"}]
    assert report["content"]["text"] == "hello"


def test_a_packet_of_a_nim_channel_is_accepted_there_and_still_named() -> None:
    report = packet_report(NimCodec().encode(GOOD), EitherCodec())
    assert (report["accepted"], report["dialect"]) == (True, "nim-sds")


def test_the_signature_is_judged() -> None:
    ann = Identity(b"a" * 32)
    message = signed_message(ann, "lobby", "hello", START, bloom_filter=b"\x01" * 16)

    def judged(**changes: Any) -> str:
        return str(packet_report(CODEC.encode(replace(message, **changes)), CODEC)["content"]["signature"])

    old = old_content(ann, "lobby", "hello")
    assert judged() == "valid"
    assert judged(channel_id="attic") == "bad_signature"
    assert judged(lamport_timestamp=START + 1) == "altered"
    assert judged(content=old, message_id=content_id(old)) == "unsigned"


def test_every_cut_of_a_packet_is_survived() -> None:
    for raw in (bytes.fromhex(VECTORS[0]["encoded"]), NimCodec().encode(GOOD), logos_chat()):
        for end in range(0, len(raw), max(1, len(raw) // 200)):
            report = packet_report(raw[:end], CODEC)
            assert report["verdict"] in (SOUND, BROKEN, NO_PACKET)
            assert json.loads(json.dumps(report)) == report


def test_nothing_is_nothing_to_decode(tmp_path: Path) -> None:
    done = run(tmp_path, "decode", stdin=b"")
    assert done.returncode == 2
    assert "nothing" in done.stderr
