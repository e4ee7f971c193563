"""Packets to explain, from a file or a stream: one a line in hex or base64, or raw bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from io import BufferedIOBase
from typing import Final, NamedTuple

from sdschat.node.view.packet_report import NO_PACKET, SOUND, packet_report
from sdschat.wire.protobuf_scan import Malformed, read_field

MOST_BYTES: Final = 32 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_LONGEST_LINE: Final = 2 * MOST_BYTES + 2
_HEX: Final = re.compile(rb"(?:0[xX])?((?:[0-9a-fA-F]{2})+)")
_BASE64: Final = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")
_SURE: Final = 16  # a line of so many hex or base64 characters is hardly part of a raw packet
_PRINTABLE: Final = bytes(range(0x20, 0x7F)) + b"\t\r\n"
_NEWLINE: Final = 0x0A


class Candidate(NamedTuple):
    """One line, or one raw packet. `number` counts from 1; `problem` says why there are no bytes."""

    number: int
    packet: bytes
    problem: str = ""


def candidates(stream: BufferedIOBase, form: str) -> Iterator[list[Candidate]]:
    """Yield lists of candidates as input arrives, to its end. `form` is auto, hex, base64 or raw; skips blank lines."""
    first = stream.read1(_CHUNK)
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
    """True if the bytes are lines of text, broken ones included; raw packets hold bytes that no text has."""
    if not data.translate(None, _PRINTABLE):
        return True
    return any(len(line) >= _SURE and _BASE64.fullmatch(line) for line in data.split())


def _from_line(number: int, line: bytes, form: str) -> Candidate:
    text = line.strip()
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


def _raw_packets(data: bytes, form: str) -> list[bytes]:
    """Return one packet, or several with a newline behind each, as `mosquitto_sub` writes them."""
    if form == "raw":
        return [data]
    whole = data.removesuffix(b"\n")
    for each in (data, whole):
        if packet_report(each)["verdict"] == SOUND:
            return [each]
    parts = _split(data)
    if len(parts) > 1 and all(packet_report(part)["verdict"] != NO_PACKET for part in parts):
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
