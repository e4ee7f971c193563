"""`sdschat log`: the history, from the local database."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import click

from sdschat.cli.lines import described, state_name
from sdschat.cli.local import codec_of, open_reader, require_channel
from sdschat.cli.options import channel_name, local_options
from sdschat.cli.parquet import write_journal, write_messages
from sdschat.cli.problem import WRONG_USE, Problem
from sdschat.cli.progress import shown
from sdschat.cli.sources import Chosen
from sdschat.cli.text import moment, parse_moment, safe
from sdschat.sds.rows import AckState
from sdschat.sds.values import Codec, Message
from sdschat.store.journal import JournalRow, json_lines
from sdschat.store.reader import Reader
from sdschat.store.shown import StoredMessage

_FORMATS = ("text", "json", "md", "parquet")


@click.command("log")
@click.argument("channel")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", help="How to print it.")
@click.option("--since", metavar="TIME", help="From 2026-01-31T15:00, or 30m for half an hour ago.")
@click.option("--until", metavar="TIME", help="Up to this moment.")
@click.option("--search", metavar="WORDS", default="", help="Only messages with these words.")
@click.option("--last", metavar="N", type=click.IntRange(1), help="Only the last so many.")
@click.option("--journal", is_flag=True, help="The journal of events instead: JSON lines, or Parquet.")
@local_options
def command(chosen: Chosen, channel: str, as_json: bool, form: str, journal: bool, **which: Any) -> None:
    """Print the history of a channel, without a network.

    \b
    Examples:
      sdschat log lobby --name ann
      sdschat log lobby --since 2h --search "release" --json
      sdschat log lobby --format md > lobby.md
      sdschat log lobby --journal > events.jsonl

    The order is that of all participants: Lamport time, then id.
    """
    name = channel_name(channel)
    since, until = _moments(which["since"], which["until"])
    form = "json" if as_json else form
    if journal:
        _refuse_what_events_have_not(form, which)
    with open_reader(chosen) as reader:
        require_channel(reader, chosen, name)
        if journal:
            rows = _within(shown(reader.journal(name), "journal", None), since, until)
            write_journal(rows) if form == "parquet" else _print(json_lines(rows))
            return
        found = reader.messages(
            name, since=since, until=until, search=which["search"], limit=which["last"], with_raw=form == "json"
        )
        everything = not (since or until or which["search"])
        total = which["last"] or (_messages_in(reader, name) if everything else None)
        found = shown(found, name, total)
        if form == "parquet":
            write_messages(found)
        else:
            show = {"text": _text, "json": _json(codec_of(chosen)), "md": _markdown}[form]
            _print(map(show, found))


def _refuse_what_events_have_not(form: str, which: Mapping[str, Any]) -> None:
    for option, given in (("--search", which["search"]), ("--last", which["last"]), ("--format md", form == "md")):
        if given:
            raise Problem(f"{option} is for messages, not for --journal. --since and --until are for both.", WRONG_USE)


def _within(rows: Iterable[JournalRow], since: int | None, until: int | None) -> Iterator[JournalRow]:
    """All of them are looked at: where a clock was set back, times are not in order."""
    return (row for row in rows if (since is None or row.ts_ms >= since) and (until is None or row.ts_ms <= until))


def _messages_in(reader: Reader, channel: str) -> int:
    return next(info.messages for info in reader.channels() if info.channel == channel)


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        click.echo(line)


def _moments(since: str | None, until: str | None) -> tuple[int | None, int | None]:
    now = time.time_ns() // 1_000_000
    try:
        return (parse_moment(since, now) if since else None), (parse_moment(until, now) if until else None)
    except ValueError as error:
        raise Problem(str(error), WRONG_USE) from error


def who(message: StoredMessage) -> str:
    """The nick where it is proven, else the id, so that nobody is shown under a name they only claim."""
    return safe(message.nick) if message.nick else f"<{safe(message.sender_id[:8])}>"


def _text(message: StoredMessage) -> str:
    marks = "" if message.state is None else f" [{_fate(message.state, message.sends)}]"
    if message.verdict in ("bad_signature", "mismatched"):
        marks += f" [{message.verdict.replace('_', ' ')}]"
    if message.damaged:
        marks += f" [{message.damaged}]"
    text = safe(message.text or "", lines=True).replace("\n", "\n    ")
    return f"{moment(message.lamport)} {who(message)}: {text}{marks}"


def _fate(state: AckState, sends: int) -> str:
    """What the chat says too: unacked is what went out, queued what is nowhere but here."""
    return "queued" if state is AckState.UNACKED and not sends else state_name(state)


def _markdown(message: StoredMessage) -> str:
    text = safe(message.text or "", lines=True)
    for sign in "\\`*_{}[]<>#|":
        text = text.replace(sign, f"\\{sign}")
    quoted = text.replace("\n", "  \n")
    return f"**{who(message).strip('<>')}** ({moment(message.lamport)}): {quoted}\n"


def _json(codec: Codec) -> Callable[[StoredMessage], str]:
    def show(message: StoredMessage) -> str:
        text, content = message.text, b""
        if not text and message.raw is not None:
            packet = codec.decode(message.raw)
            content = (packet.content or b"") if isinstance(packet, Message) else b""
            text = text if message.verdict != "unsigned" else _utf8(content)
        said = described(
            message.message_id, message.sender_id, message.nick or "", message.lamport, text, content,
            own=message.own, verdict=message.verdict or "",
        )  # fmt: skip
        line = {"event": "delivered", "channel": message.channel, "time": message.received_at, "message": said}
        line["via"] = message.via
        if message.state is not None:
            line["state"], line["sends"] = state_name(message.state), message.sends
        return json.dumps(line, separators=(",", ":"))

    return show


def _utf8(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None
