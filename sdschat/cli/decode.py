"""`sdschat decode`: packets to JSON, with the rules of the spec that they break."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Final, cast

import click

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.options import standard_input
from sdschat.cli.packet_input import Candidate, candidates
from sdschat.node.view.packet_report import BROKEN, NO_PACKET, SOUND, packet_report

EXIT_CODES: Final = {SOUND: 0, BROKEN: 1, NO_PACKET: 2}
_CHECKED: Final = 1000  # signatures checked without --signatures: a check costs more than the rest of a packet
_encode = json.JSONEncoder(separators=(",", ":")).encode


@click.command("decode")
@click.argument("file", required=False)
@click.option("--as", "form", type=click.Choice(["auto", "hex", "base64", "raw"]), default="auto", help="The encoding.")
@click.option("--pretty", is_flag=True, help="Indented, for reading, and not a line each.")
@click.option("--signatures", is_flag=True, help="Check all of them, not only those of the first 1,000 packets.")
def command(file: str | None, form: str, pretty: bool, signatures: bool) -> int:
    """Explain packets: a line of hex or base64 each, or raw bytes, from FILE or standard input.

    \b
    Examples:
      mosquitto_sub -t 'sds/1/lobby/msg' -F %x | sdschat decode
      echo 0a0161120162... | sdschat decode --pretty
      sdschat decode packet.bin

    Prints a JSON line for each packet: its number (`line`), `verdict`, `dialect` (spec, waku-older, nim-sds,
    logos-chat, timber), fields, and broken rules by their numbers, S-001 to S-087, with the sentence of the
    specification; T-001 to T-074 for packets of members' channels.

    Exit code: 0 all packets are sound, 1 some break rules, 2 some line is no packet.
    """
    worst = count = 0
    with _opened(file) as stream:
        for batch in _batches(stream, form):
            alone = len(batch) == 1 and not count and sys.stdout.isatty()
            reports = [_report(each, signatures or count + at < _CHECKED) for at, each in enumerate(batch)]
            count += len(batch)
            worst = max([worst, *(EXIT_CODES[report["verdict"]] for report in reports)])
            click.echo("".join(f"{_shown(report, pretty or alone)}\n" for report in reports), nl=False)
    if not count:
        raise CommandProblem("There is nothing to decode. Give it a packet, in a file or on standard input.", WRONG_USE)
    return worst


@contextlib.contextmanager
def _opened(file: str | None) -> Iterator[BufferedIOBase]:
    if file in (None, "-"):
        yield cast("BufferedIOBase", standard_input())
        return
    assert file is not None
    try:
        with Path(file).open("rb") as stream:
            yield stream
    except OSError as error:
        raise CommandProblem(f"{file} cannot be read: {error.strerror}. Check its name.", WRONG_USE) from error


def _batches(stream: BufferedIOBase, form: str) -> Iterator[list[Candidate]]:
    try:
        yield from candidates(stream, form)
    except ValueError as error:
        raise CommandProblem(str(error), WRONG_USE) from error


def _shown(report: dict[str, Any], indented: bool) -> str:
    return json.dumps(report, indent=2) if indented else _encode(report)


def _report(candidate: Candidate, signatures: bool) -> dict[str, Any]:
    number, packet, problem = candidate
    if problem:
        return {"line": number, "verdict": NO_PACKET, "accepted": False, "error": problem}
    report = packet_report(packet, signatures=signatures)
    if report["verdict"] == NO_PACKET:
        report["error"] = "it is no packet: " + report["broken_rules"][0]["what"]
    return {"line": number, **report}
