"""`sdschat decode`: packets to JSON, with the rules of the spec that they break.

Packets come from a file or a stream: one a line in hex or base64, as a line that `sdschat tap` recorded, or raw bytes.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote

import click

from sdschat.audit.sources.databases import MAGIC
from sdschat.cli.by_sender import CHECKED, EXIT_CODES, Earlier, Lint
from sdschat.cli.errors import FILE, WRONG_USE, CommandProblem, standard_input
from sdschat.identity.packets import MAGIC as SEALED
from sdschat.identity.presence import PresenceKind, decode_presence
from sdschat.identity.signing import sender_id_of
from sdschat.node.view.packet_report import NO_PACKET, SOUND, packet_report
from sdschat.wire.protobuf_scan import Malformed, read_field

MOST_BYTES: Final = 32 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_LONGEST_LINE: Final = 2 * MOST_BYTES + 2
_HEX: Final = re.compile(rb"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
_HEX_PAIRS: Final = re.compile(rb"[0-9a-fA-F]{2}(?:[ :][0-9a-fA-F]{2})+")  # as dumps and dissectors write them
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_SURE: Final = 16  # a line of so many hex or base64 characters is hardly part of a raw packet
_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\t\r\n"
_RECORDINGS: Final = "*.jsonl"
_NEWLINE: Final = 0x0A
_OF_MESSAGES: Final = re.compile(r"([^/]+)/msg$")
_ELSEWHERE: Final = {  # packets that are no message, by the end of their topic
    "presence": re.compile(r"/who/[^/]+$"),
    "store_query": re.compile(r"/store/query/[^/]+$"),
    "store_answer": re.compile(r"/store/answer/[^/]+$"),
    "echo": re.compile(r"/!echo/[^/]+$"),  # with which a node checks that its broker answers
    "mvds": re.compile(r"/sync/[^/]+/[^/]+$"),
}


class Candidate(NamedTuple):
    """One line, or one raw packet. `number` counts from 1; `problem` says why there are no bytes."""

    number: int
    packet: bytes
    problem: str = ""
    topic: str = ""  # of a recorded packet
    channel: str = ""  # likewise; empty if it is not known


def candidates(stream: BufferedIOBase, form: str) -> Iterator[list[Candidate]]:
    """Yield lists of candidates as input arrives, to its end. `form` is auto, hex, base64 or raw; skips blank lines."""
    first = stream.read1(_CHUNK)
    if form != "raw" and first.startswith(MAGIC):
        raise ValueError("This is a database, and no packet: `sdschat log`, `inspect` and `audit` read it.")
    if form == "raw" or (form == "auto" and not _is_text(first)):
        data = first + stream.read(MOST_BYTES - len(first))
        if data:
            yield [Candidate(number, packet) for number, packet in enumerate(_raw_packets(data, form), 1)]
        return
    held, number = b"", 0
    while first:
        *lines, held = (held + first).split(b"\n")
        if len(held) > _LONGEST_LINE:
            raise ValueError(f"Line {number + len(lines) + 1} is longer than {_LONGEST_LINE} bytes: no packet is.")
        yield [_from_line(number + at, line, form) for at, line in enumerate(lines, 1) if line.strip()]
        number += len(lines)
        first = stream.read1(_CHUNK)
    if held.strip():
        yield [_from_line(number + 1, held, form)]


def _is_text(data: bytes) -> bool:
    """True if the bytes are lines of text, broken ones included; raw packets hold bytes that no text has.

    A packet may hold a line of hex by chance: its ids are hex, and a newline is the tag of a field.
    """
    if not data.translate(None, _PRINTABLE):
        return True
    if _split(data):
        return False
    lines = [line for line in data.split(b"\n") if not line.translate(None, _PRINTABLE)]
    return any(len(word) >= _SURE and _BASE64.fullmatch(word) for line in lines for word in line.split())


def _from_line(number: int, line: bytes, form: str) -> Candidate:
    text = line.strip()
    if form == "auto" and text.startswith(b"{"):
        return _recorded(number, text)
    topic, space, payload = line.lstrip().partition(b" ")
    if space and b"/" in topic:
        return _of_topic(_from_line(number, payload, form) if payload.strip() else Candidate(number, b""), topic)
    if form != "base64" and _HEX_PAIRS.fullmatch(text):
        text = text.replace(b" ", b"").replace(b":", b"")
    if form != "base64" and (found := _HEX.fullmatch(text)):
        return Candidate(number, bytes.fromhex(found[1].decode("ascii")))
    if form != "hex" and _BASE64.fullmatch(text):
        standard = text.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
        try:
            return Candidate(number, base64.b64decode(standard + b"=" * (-len(standard) % 4), validate=True))
        except binascii.Error:
            pass
    wanted = "neither hex nor base64" if form == "auto" else f"not {form}"
    return Candidate(number, b"", f"the line is {wanted}")


def _of_topic(candidate: Candidate, topic: bytes) -> Candidate:
    """Add the topic that stands before a packet, and the channel that it names."""
    name = topic.decode("utf-8", "replace")
    level = _OF_MESSAGES.search(name)
    return candidate._replace(topic=name, channel=unquote(level[1]) if level else "")


def _recorded(number: int, line: bytes) -> Candidate:
    """Return the packet of a line that `sdschat tap` recorded."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Candidate(number, b"", "the line begins as JSON and is none: perhaps its end is missing")
    try:
        raw, channel = base64.b64decode(found["raw"], validate=True), str(found.get("channel") or "")
        return Candidate(number, raw, "", str(found["topic"]), channel)
    except (ValueError, KeyError, TypeError):
        return Candidate(number, b"", "the line is JSON, and not of `sdschat tap`: it needs topic, and raw in base64")


def _raw_packets(data: bytes, form: str) -> list[bytes]:
    """Return one packet, or several with a newline behind each, as `mosquitto_sub` writes them."""
    if form == "raw":
        return [data]
    whole = data.removesuffix(b"\n")
    for each in (data, whole):
        if packet_report(each, signatures=False)["verdict"] == SOUND:
            return [each]
    parts = _split(data)
    if len(parts) > 1 and all(packet_report(part, signatures=False)["verdict"] != NO_PACKET for part in parts):
        return parts
    return [whole]


def _split(data: bytes) -> list[bytes]:
    """Cut at each newline that stands in the place of a field: it reads as the tag of field 1, which comes first."""
    parts: list[bytes] = []
    start = at = 0
    try:
        while at < len(data):
            if at > start and data[at] == _NEWLINE:
                parts.append(data[start:at])
                start = at = at + 1
            else:
                at = read_field(data, at, len(data)).end
    except Malformed:
        return []
    return [*parts, data[start:]] if start < len(data) else parts


_SEALED: Final = "it is sealed, of a private channel: `sdschat tap LINK --to DIR` records such packets opened"
_encode = json.JSONEncoder(separators=(",", ":")).encode


@click.command("decode")
@click.argument("files", nargs=-1, metavar="[FILE]…", type=FILE)
@click.option("--as", "form", type=click.Choice(["auto", "hex", "base64", "raw"]), default="auto", help="The encoding.")
@click.option("--pretty", is_flag=True, help="Indented, for reading, and not a line each.")
@click.option("--lint", "lints", is_flag=True, help="Count by sender; print what is new, and the rules that it breaks.")
@click.option("--signatures", is_flag=True, help="Check all of them, not only those of the first 1,000 packets.")
def command(files: tuple[str, ...], form: str, pretty: bool, lints: bool, signatures: bool) -> int:
    """Explain packets: a line of hex or base64 each, a recording (`tap`), or raw bytes, from files or standard input.

    \b
    Examples:
      mosquitto_sub -t 'sds/1/lobby/msg' -F %x | sdschat decode
      mosquitto_sub -t 'sds/1/#' -F '%t %x' | sdschat decode
      echo 0a0161120162... | sdschat decode --pretty
      sdschat decode packet.bin
      sdschat decode --lint tap

    A topic may stand before a packet, as above: it says what is no message, and the channel that a message must name.

    Prints a JSON line for each packet: its number (`line`), `verdict`, `dialect` (spec, waku-older, nim-sds,
    logos-chat, timber), `accepted` (nodes take it, after those before it), fields, and broken rules by their numbers,
    S-001 to S-087, with what breaks them; T-001 to T-075 for packets of members' channels. A bound of nodes that is no
    rule of the specification has its reason in place of a number, such as `field_too_long`.

    Of several files, or of a folder, which stands for the recordings in it, each line has its `file`, too. With --lint,
    as `tap --lint` does: a line for each packet with something new about its sender (dialect, reason, broken rule,
    note), and at the end a line for each sender, with the place of the first packet that broke a rule.

    Exit code: 0 all packets are sound, 1 some break rules, 2 some line is no packet.
    """
    counts, earlier = Lint(), Earlier()
    worst = count = 0
    named = _named(files)
    for file in named:
        place = {"file": file} if len(named) > 1 else {}
        with _opened(file) as stream:
            for batch in _batches(stream, form, place):
                alone = len(batch) == 1 and not count and sys.stdout.isatty()
                reports = [_report(each, signatures or count + at < CHECKED) for at, each in enumerate(batch)]
                for each, report in zip(batch, reports, strict=True):
                    earlier.judge(_channel(each, report), report)
                count += len(batch)
                worst = max([worst, *(EXIT_CODES[report["verdict"]] for report in reports)])
                if lints:
                    lines = [_news(counts, each, report, place) for each, report in zip(batch, reports, strict=True)]
                else:
                    lines = [f"{_shown(place | report, pretty or alone)}\n" for report in reports]
                click.echo("".join(lines), nl=False)
    if not count:
        raise CommandProblem("There is nothing to decode. Give it a packet, in a file or on standard input.", WRONG_USE)
    for line in counts.totals():
        click.echo(line)
    return worst


def _news(counts: Lint, candidate: Candidate, report: dict[str, Any], place: Mapping[str, Any]) -> str:
    """Count a packet of a message. Return the line that tells what is new in it, else an empty text."""
    if "dialect" not in report and not candidate.problem:
        return ""  # presence and the like
    line = counts.count(_channel(candidate, report), report, {**place, "line": candidate.number})
    return f"{line}\n" if line else ""


def _channel(candidate: Candidate, report: Mapping[str, Any]) -> str:
    return candidate.channel or str(report.get("channel_id", ""))


def _named(files: Sequence[str]) -> list[str]:
    """Return the files to read, "-" for standard input; of a folder, the recordings in it, the oldest first."""
    found: list[str] = []
    for file in files or ("-",):
        path = Path(file)
        inside = list(map(str, sorted(path.glob(_RECORDINGS), key=_begun))) if path.is_dir() else []
        if file != "-" and not inside and (path.is_dir() or not path.exists()):
            what = f"no recording ({_RECORDINGS}) is in it" if path.is_dir() else "there is no such file"
            raise CommandProblem(f"{file} cannot be read: {what}. Check its name.", WRONG_USE)
        found += inside or [file]
    return found


def _begun(path: Path) -> tuple[int, str]:
    """Return the time of the first packet of a recording. Its name begins with the run of `tap`, which is random."""
    try:
        with path.open("rb") as file:
            at = json.loads(file.readline(_LONGEST_LINE))["ts_ms"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        at = 0
    return at if isinstance(at, int) else 0, path.name


@contextlib.contextmanager
def _opened(file: str) -> Iterator[BufferedIOBase]:
    if file == "-":
        yield cast("BufferedIOBase", standard_input())
        return
    try:
        stream = Path(file).open("rb")  # noqa: SIM115
    except OSError as error:
        raise CommandProblem(f"{file} cannot be read: {error.strerror}. Check its name.", WRONG_USE) from error
    with stream:
        yield stream


def _batches(stream: BufferedIOBase, form: str, place: Mapping[str, str]) -> Iterator[list[Candidate]]:
    try:
        yield from candidates(stream, form)
    except ValueError as error:
        raise CommandProblem(": ".join([*place.values(), str(error)]), WRONG_USE) from error


def _shown(report: dict[str, Any], indented: bool) -> str:
    return json.dumps(report, indent=2) if indented else _encode(report)


def _report(candidate: Candidate, signatures: bool) -> dict[str, Any]:
    number, packet, problem, topic, channel = candidate
    if problem:
        return {"line": number, "verdict": NO_PACKET, "accepted": False, "error": problem}
    place = {"line": number} | ({"topic": topic} if topic else {})
    if packet.startswith(SEALED):
        return place | {"verdict": NO_PACKET, "accepted": False, "bytes": len(packet), "error": _SEALED}
    kind = next((kind for kind, ending in _ELSEWHERE.items() if ending.search(topic)), "")
    if not topic and decode_presence(packet) is not None:
        kind = "presence"
    if kind:
        return place | _no_message(kind, packet)
    report = packet_report(packet, channel=channel, signatures=signatures)
    if report["verdict"] == NO_PACKET:
        report["error"] = "it is no packet: " + report["broken_rules"][0]["what"]
    return place | report


def _no_message(kind: str, packet: bytes) -> dict[str, Any]:
    """Explain a packet of another topic than that of messages. The rules of the specification are not about it."""
    report: dict[str, Any] = {"verdict": SOUND, "kind": kind, "bytes": len(packet), "broken_rules": []}
    presence = decode_presence(packet) if kind == "presence" else None
    if presence is None:
        return report | ({"event": "cleared"} if kind == "presence" and not packet else {})
    event = "left" if presence.kind == PresenceKind.LEFT else "here"
    said = {"nick": presence.nick, "role": presence.role, "sent_time": presence.sent_time}
    return report | {"event": event, "sender_id": sender_id_of(presence.author_key), **said}
