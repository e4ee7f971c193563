"""Run a node of sdschat's MVDS as a peer for another implementation, over lines of hex digits.

    python -m tests.peers.mvds [--dialect spec|go] [--mode interactive|batch] [--say TEXT]

Standard input has one packet a line, in hex digits, from the peer; standard output has one packet a line for the peer,
and nothing else, so that two programs of this kind can be connected crosswise:

    socat EXEC:'your-program' EXEC:'python -m tests.peers.mvds --say hello'

A packet is a protobuf Payload of 2/MVDS (proto/mvds.proto) and nothing around it. --dialect spec has the field numbers
of the specification (5001 and up; so does the newer Go implementation, which has no metadata: add --no-metadata),
--dialect go those of the first Go implementation (1 to 4, metadata 4). Both sides are in one group, --group, of 32
bytes; messages of any other are refused. The id of a message is SHA-256 of "MESSAGE_ID", group, timestamp (8 bytes,
little-endian) and body.

Lines on standard input that are no packets:

    say TEXT         send the peer a message, in the mode of --mode
    ephemeral TEXT   send it a message once, never acknowledged (4/MVDS-META)
    mode MODE        interactive or batch, for messages from now on
    online, offline  the peer was seen to come, or to leave: messages that wait for it are sent sooner
    epoch [COUNT]    let this number of epochs pass (with --manual only)
    quit             end; the end of the input does the same, one epoch later
    # anything       a comment

Standard error has a JSON object for each event: said, delivered, acknowledged, parents_missing, payload_sent,
rejected, and so on. A line that cannot be read is a bad_line, with its number and the reason; it changes nothing, and
makes the exit status 1.

An epoch lasts --epoch milliseconds (1000). Each epoch sends one payload at most; unanswered records are sent again
after 2, 4, 8 epochs and so on. With --manual time passes only by "epoch", and every run is the same.

A conversation with --manual, "<" typed and ">" printed ("…" stands for the rest of an id, and of the message):

    < say hello
    > d2b80220854b0b…      an OFFER: field 5002, 32 bytes, the id
    < dab80220854b0b…      your REQUEST of it: field 5003
    < epoch                one payload in an epoch: the answer goes in the next
    > e2b8023d8af70220…    the MESSAGE: field 5004; in it group (6001), timestamp, body and metadata
    < cab80220854b0b…      your ACK: field 5001; "acknowledged" on standard error
"""

from __future__ import annotations

import argparse
import json
import os
import select
import sys
import time
from collections.abc import Iterator
from typing import Any, Final, get_args

from sdschat.mvds import Config, Mode, Now
from sdschat.mvds.config import Ordering, Unit
from sdschat.mvds.limits import GROUP_BYTES
from sdschat.wire.mvds_codec import Dialect
from tests.peers.mvds_lines import LONGEST, BadLine, End, MvdsLines

_MANUAL_START: Final = 1_700_000_000_000
_CHUNK: Final = 65536


class Clock:
    """The time of day, or with `manual` a clock that moves only on command."""

    def __init__(self, manual: bool) -> None:
        self.manual = manual
        self._passed = 0

    def now(self) -> Now:
        if self.manual:
            return Now(_MANUAL_START + self._passed, self._passed)
        return Now(time.time_ns() // 1_000_000, time.monotonic_ns() // 1_000_000)

    def move(self, milliseconds: int) -> None:
        self._passed += milliseconds


class Program:
    """Reads lines and prints lines, to the end of the input."""

    def __init__(self, node: MvdsLines, clock: Clock) -> None:
        self._node = node
        self._clock = clock
        self._number = 0
        self.bad = 0

    def run(self, descriptor: int, sayings: list[str]) -> None:
        for text in sayings:
            self._node.say(text, self._clock.now())
        self._step()
        try:
            for line in self._lines(descriptor):
                self._number += 1
                self._hear(line)
                self._step()
        except End:
            return
        if not self._clock.manual and self._wait() is not None:
            time.sleep(min(self._wait() or 0, self._node.config.epoch / 1000))
            self._step()

    def _hear(self, line: bytes) -> None:
        try:
            if len(line) > LONGEST:
                raise BadLine(f"it has more than {LONGEST} characters: no packet is that long.")
            epochs = self._node.hear(line, self._clock.now())
            if epochs and not self._clock.manual:
                raise BadLine("epochs pass by themselves. Start with --manual to let them pass by hand.")
        except BadLine as problem:
            self.bad += 1
            _tell({"event": "bad_line", "line": self._number, "why": str(problem)})
            return
        for _ in range(epochs):
            self._clock.move(self._node.config.epoch)
            self._step()

    def _step(self) -> None:
        self._node.advance(self._clock.now())
        said = self._node.take()
        for event in said.events:
            _tell(event)
        for packet in said.packets:
            print(packet, flush=True)

    def _wait(self) -> float | None:
        """Return the seconds until the next step, or None if only a line can cause one."""
        wake = None if self._clock.manual else self._node.next_wake()
        return None if wake is None else max(0, wake - self._clock.now().mono) / 1000

    def _lines(self, descriptor: int) -> Iterator[bytes]:
        """Yield input lines, and do the steps meanwhile. Of an overlong line, yield the start and skip the rest."""
        rest = b""
        skipping = False
        while True:
            while not select.select([descriptor], [], [], self._wait())[0]:
                self._step()
            chunk = os.read(descriptor, _CHUNK)
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                if not skipping:
                    yield line
                skipping = False
            if len(rest) > LONGEST:
                if not skipping:
                    yield rest
                rest, skipping = b"", True
            if not chunk:
                if rest and not skipping:
                    yield rest
                return


def _tell(event: dict[str, Any]) -> None:
    print(json.dumps(event, ensure_ascii=False), file=sys.stderr, flush=True)


def _group(text: str) -> bytes:
    try:
        group = bytes.fromhex(text)
    except ValueError:
        group = b""
    if len(group) != GROUP_BYTES:
        raise argparse.ArgumentTypeError(f"{text[:70]!r} is not {2 * GROUP_BYTES} hex digits")
    return group


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.peers.mvds", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dialect", type=Dialect, choices=list(Dialect), default=Dialect.SPEC, help="field numbers")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), default=Mode.INTERACTIVE)
    parser.add_argument("--group", type=_group, default=bytes(GROUP_BYTES), metavar="HEX", help="64 digits (all 0)")
    parser.add_argument("--say", action="append", default=[], metavar="TEXT", help="say this at the start (repeatable)")
    parser.add_argument("--epoch", type=int, default=1000, metavar="MS", help="length of an epoch (1000)")
    parser.add_argument("--manual", action="store_true", help='epochs pass by "epoch" alone')
    parser.add_argument("--ordering", choices=get_args(Ordering), default="causal", help="wait for parents, or not")
    parser.add_argument("--no-metadata", action="store_true", help="name no parents in own messages")
    parser.add_argument("--unit", choices=get_args(Unit), default="ns", help="of timestamps; s as in Go")
    return parser


def main() -> int:
    parser = _parser()
    given = parser.parse_args()
    try:
        config = Config(
            epoch=given.epoch,
            mode=given.mode,
            ordering=given.ordering,
            metadata=not given.no_metadata,
            timestamp_unit=given.unit,
        )
    except ValueError as problem:
        parser.error(str(problem).replace("mvds.", "--"))
    clock = Clock(given.manual)
    program = Program(MvdsLines(config, given.dialect, given.group, clock.now()), clock)
    try:
        program.run(sys.stdin.fileno(), given.say)
    except BadLine as problem:
        parser.error(f"--say: {problem}")
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if program.bad else 0


if __name__ == "__main__":
    sys.exit(main())
