"""`sdschat decode`: a packet to JSON, with the rules of the spec that it breaks."""

from __future__ import annotations

import base64
import binascii
import json
import re
from pathlib import Path

import click

from sdschat.cli.options import standard_input
from sdschat.cli.problem import WRONG_USE, Problem
from sdschat.node.packet import packet_report
from sdschat.sds.values import Refusal
from sdschat.wire.sds_codec import SdsCodec

_MOST = 32 * 1024 * 1024
_HEX = re.compile(rb"(?:0x)?(?:[0-9a-fA-F]{2})+")
_BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}={0,2}")


@click.command("decode")
@click.argument("file", required=False)
@click.option("--as", "how", type=click.Choice(["auto", "hex", "base64", "raw"]), default="auto", help="The encoding.")
def command(file: str | None, how: str) -> None:
    """Explain a packet: hex, base64 or raw bytes, from FILE or standard input.

    \b
    Examples:
      mosquitto_sub -t 'sds/1/lobby/msg' -C 1 | sdschat decode
      echo 0a0161120162... | sdschat decode
      sdschat decode packet.bin

    The rules are numbered S-001 to S-087, as the specification states them.
    """
    data = _read(file)
    if not data:
        raise Problem("There is nothing to decode. Give it a packet, in a file or on standard input.", WRONG_USE)
    packet = _unpack(data, how)
    click.echo(json.dumps(packet_report(packet, SdsCodec(_MOST)), indent=2))


def _read(file: str | None) -> bytes:
    if file in (None, "-"):
        return standard_input().read(_MOST)
    assert file is not None
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_MOST)
    except OSError as error:
        raise Problem(f"{file} cannot be read: {error.strerror}. Check its name.", WRONG_USE) from error


def _unpack(data: bytes, how: str) -> bytes:
    text = b"".join(data.split())
    if how == "raw":
        return data
    if how == "hex" or (how == "auto" and _HEX.fullmatch(text)):
        try:
            return bytes.fromhex(text.decode("ascii").removeprefix("0x"))
        except ValueError as error:
            raise Problem("The input is not hex. Leave out --as hex, or correct it.", WRONG_USE) from error
    if how == "base64" or _BASE64.fullmatch(text):
        try:
            standard = text.translate(bytes.maketrans(b"-_", b"+/")) + b"=" * (-len(text) % 4)
            return base64.b64decode(standard, validate=True)
        except binascii.Error as error:
            if how == "base64":
                raise Problem("The input is not base64. Leave out --as base64, or correct it.", WRONG_USE) from error
    if data.endswith(b"\n") and isinstance(SdsCodec(_MOST).decode(data), Refusal):
        return data[:-1]  # what mosquitto_sub and the like put behind a packet
    return data
