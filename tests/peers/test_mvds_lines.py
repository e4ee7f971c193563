"""`python -m tests.peers.mvds` as others use it: bytes made by hand, and two processes connected crosswise."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

import tests.peers.mvds as program
from sdschat.mvds import Config, Now
from sdschat.wire.mvds_codec import Dialect
from tests.peers.mvds_lines import LONGEST, MvdsLines

ROOT: Final = Path(__file__).parents[2]
VECTORS: Final = json.loads((ROOT / "tests" / "vectors" / "mvds_go.json").read_text())["message_ids"]
PATIENCE: Final = 30.0


class Numbers(NamedTuple):
    """The field numbers of a dialect."""

    acks: int
    offers: int
    requests: int
    messages: int
    group_id: int
    timestamp: int
    body: int


NUMBERS: Final = {
    Dialect.SPEC: Numbers(5001, 5002, 5003, 5004, 6001, 6002, 6003),
    Dialect.GO: Numbers(1, 2, 3, 4, 1, 2, 3),
}


def _varint(value: int) -> bytes:
    value %= 2**64
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _message(numbers: Numbers, group: bytes, timestamp: int, body: bytes) -> bytes:
    """Return a MESSAGE without metadata, as the newer Go implementation makes it."""
    stamp = _varint(numbers.timestamp << 3) + _varint(timestamp)
    inner = _bytes(numbers.group_id, group) + stamp + _bytes(numbers.body, body)
    return _bytes(numbers.messages, inner)


def _id(group: bytes, timestamp: int, body: bytes) -> bytes:
    return hashlib.sha256(b"MESSAGE_ID" + group + timestamp.to_bytes(8, "little", signed=True) + body).digest()


class Done(NamedTuple):
    status: int
    packets: list[str]
    events: list[dict[str, Any]]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.peers.mvds", *arguments]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(ROOT)}


def _run(*arguments: str, lines: list[str | bytes]) -> Done:
    typed = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    done = subprocess.run(
        _command(*arguments), input=typed, capture_output=True, timeout=PATIENCE, check=False, env=_environment()
    )
    told = [json.loads(line) for line in done.stderr.splitlines()]
    return Done(done.returncode, done.stdout.decode().split(), told)


@pytest.mark.parametrize("dialect", [*Dialect])
def test_what_is_said_is_offered_given_and_acknowledged(dialect: Dialect) -> None:
    numbers = NUMBERS[dialect]
    offer = _run("--manual", "--dialect", dialect, lines=["say hello"]).packets[0]
    said = bytes.fromhex(offer)[-32:]
    assert offer == _bytes(numbers.offers, said).hex()
    request, ack = _bytes(numbers.requests, said).hex(), _bytes(numbers.acks, said).hex()
    done = _run("--manual", "--dialect", dialect, lines=["say hello", request, "epoch", ack, "epoch 50"])
    assert done.status == 0
    assert len(done.packets) == 2, "what is acknowledged is not sent again"
    assert _bytes(numbers.body, b"hello").hex() in done.packets[1]
    assert [event["message_id"] for event in done.of("acknowledged")] == [said.hex()]


@pytest.mark.parametrize("dialect", [*Dialect])
def test_what_is_offered_is_asked_for_taken_and_acknowledged(dialect: Dialect) -> None:
    numbers, one = NUMBERS[dialect], (bytes(32), 1_700_000_000, "Grüße".encode())
    offer, given = _bytes(numbers.offers, _id(*one)).hex(), _message(numbers, *one).hex()
    done = _run("--manual", "--dialect", dialect, lines=["# a comment", "", offer, "epoch", given.upper(), "epoch"])
    assert done.packets == [_bytes(numbers.requests, _id(*one)).hex(), _bytes(numbers.acks, _id(*one)).hex()]
    assert [(event["message_id"], event["text"]) for event in done.of("delivered")] == [(_id(*one).hex(), "Grüße")]
    assert done.status == 0


@pytest.mark.parametrize("dialect", [*Dialect])
def test_messages_of_the_go_implementation_get_its_ids(dialect: Dialect) -> None:
    for vector in VECTORS:
        group, body = bytes.fromhex(vector["group_id"]), bytes.fromhex(vector["body"])
        now = Now(1_700_000_000_000, 0)
        node = MvdsLines(Config(), dialect, group, now)
        node.hear(_message(NUMBERS[dialect], group, vector["timestamp"], body).hex().encode(), now)
        node.advance(now)
        expected = _bytes(NUMBERS[dialect].acks, bytes.fromhex(vector["message_id"])).hex()
        assert node.take().packets == [expected]


@pytest.mark.parametrize("dialect", [*Dialect])
def test_a_vector_of_the_go_implementation_through_the_process(dialect: Dialect) -> None:
    vector = VECTORS[2]
    group, body = bytes.fromhex(vector["group_id"]), bytes.fromhex(vector["body"])
    given = _message(NUMBERS[dialect], group, vector["timestamp"], body).hex()
    done = _run("--manual", "--dialect", dialect, "--group", vector["group_id"], lines=[given])
    assert done.packets == [_bytes(NUMBERS[dialect].acks, bytes.fromhex(vector["message_id"])).hex()]
    assert done.of("delivered")[0]["body"] == vector["body"]


BAD: Final[list[tuple[str | bytes, str]]] = [
    ("zz top", "neither a packet nor a command"),
    ("say", "neither a packet nor a command"),
    ("mode fast", "neither a packet nor a command"),
    ("epoch 0", "neither a packet nor a command"),
    ("abc", "3 hex digits"),
    ("0a20", "unreadable"),
    ("0a20" + 32 * "ab", "Try --dialect go"),
    ("cab80201ff", "id_length"),
    (b"\xff\xfe", "neither hex digits nor UTF-8"),
    ("say " + "x" * 70_000, "does not fit"),
    ("ab" * LONGEST, "no packet is that long"),
]


def test_a_bad_line_is_told_with_its_number_and_changes_nothing() -> None:
    good: list[str | bytes] = ["say hello", "epoch 3", "say more", "epoch"]
    done = _run("--manual", lines=[*good[:2], *(line for line, _ in BAD), *good[2:]])
    plain = _run("--manual", lines=good)
    assert [event["line"] for event in done.of("bad_line")] == list(range(3, 3 + len(BAD)))
    for event, (_, words) in zip(done.of("bad_line"), BAD, strict=True):
        assert words in event["why"]
    assert (done.packets, plain.status, done.status) == (plain.packets, 0, 1)
    assert [event for event in done.events if event["event"] != "bad_line"] == plain.events


def test_epochs_that_pass_by_themselves_are_not_moved() -> None:
    done = _run(lines=["epoch"])
    assert (done.status, done.of("bad_line")[0]["line"]) == (1, 1)
    assert "--manual" in done.of("bad_line")[0]["why"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--group", "00"), "'00' is not 64 hex digits"),
        (("--epoch", "0"), "--epoch is 0, and must be from 1"),
        (("--say", "x" * 70_000), "--say: a message of 70000 bytes does not fit"),
    ],
)
def test_a_bad_argument_is_told(arguments: tuple[str, ...], words: str) -> None:
    done = subprocess.run(
        _command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False, env=_environment()
    )
    assert done.returncode == 2
    assert words in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_a_message_of_another_group_is_rejected_and_not_acknowledged() -> None:
    done = _run("--manual", lines=[_message(NUMBERS[Dialect.SPEC], b"g" * 32, 1, b"x").hex(), "epoch"])
    assert done.packets == []
    assert done.of("rejected")[0]["reason"] == "not_in_group"


def test_the_conversation_in_the_help_is_what_happens() -> None:
    told = re.findall(r"(?m)^    ([<>]) (\S+(?: hello)?)", (program.__doc__ or "").partition("conversation with")[2])
    said = _run("--manual", lines=["say hello"]).packets[0][-64:]
    typed = [line.replace("854b0b…", said) for way, line in told if way == "<"]
    printed = [line.removesuffix("…") for way, line in told if way == ">"]
    done = _run("--manual", lines=list(typed))
    assert len(printed) == len(done.packets) == 2
    assert all(packet.startswith(begin) for packet, begin in zip(done.packets, printed, strict=True))
    assert len(done.of("acknowledged")) == 1
    assert done.status == 0


class Beside:
    """A process whose events are read by a thread as they come."""

    def __init__(self, *arguments: str, stdin: int, stdout: int) -> None:
        self.process = subprocess.Popen(
            _command("--epoch", "50", *arguments),
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            env=_environment(),
        )
        self.events: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as told:
            for line in told:
                with self._news:
                    self.events.append(json.loads(line))
                    self._news.notify_all()

    def end(self) -> int:
        """Wait for the end, and return the exit status."""
        try:
            return self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reading.join()

    def until(self, name: str, count: int) -> list[dict[str, Any]]:
        def found() -> list[dict[str, Any]]:
            return [event for event in self.events if event["event"] == name]

        with self._news:
            assert self._news.wait_for(lambda: len(found()) >= count, PATIENCE), self.events
            return found()


@pytest.mark.parametrize("dialect", [*Dialect])
@pytest.mark.parametrize("modes", [("interactive", "interactive"), ("interactive", "batch"), ("batch", "batch")])
def test_two_processes_give_each_other_what_they_say(dialect: Dialect, modes: tuple[str, str]) -> None:
    (from_ann, to_bob), (from_bob, to_ann) = os.pipe(), os.pipe()
    texts = [f"ann {number}" for number in range(5)]
    said = [argument for text in texts for argument in ("--say", text)]
    ann = Beside("--dialect", dialect, "--mode", modes[0], *said, stdin=from_bob, stdout=to_bob)
    bob = Beside("--dialect", dialect, "--mode", modes[1], "--say", "bob", stdin=from_ann, stdout=to_ann)
    for descriptor in (from_ann, to_bob, from_bob, to_ann):
        os.close(descriptor)
    try:
        assert [event["text"] for event in bob.until("delivered", 5)] == texts
        assert [event["text"] for event in ann.until("delivered", 1)] == ["bob"]
        ann.until("acknowledged", 5)
        bob.until("acknowledged", 1)
    finally:
        ann.process.kill()
        ann.end()
        status = bob.end()
    assert status == 0, "it ends with its input"
    assert not any(event["event"] in ("bad_line", "rejected") for event in [*ann.events, *bob.events])
