"""Messages of a history as text, Markdown, JSON lines or Parquet, and a journal as Parquet."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.json_events import described, manner, state_name
from sdschat.cli.output import safe, speaker, zoned
from sdschat.identity.content import ContentKind
from sdschat.sds.values import AckState, Codec, Message
from sdschat.store.display_rows import DisplayMessage
from sdschat.store.journal import JournalRow

_MARKDOWN_SIGNS: Final = re.compile(r"[\\`*_{}\[\]<>#|!&~]")
_MARKDOWN_LINES: Final = re.compile(r"(?m)^(\s*\d*)([-+=.)])")  # signs at the beginning of a line only
_LINKS: Final = re.compile(r"(?i)(?<=www)\.|:(?=\S)|\$|@")  # would draw a link, a picture or a formula
_SPACES: Final = re.compile(r"(?m)^ +| {2,}| +$")  # Markdown would draw none of them, or one
_EMPTY: Final = re.compile(r"(?m)^$")
_TAB: Final = 4  # columns
DIRECT = "direct"  # the `via` of a direct message, which is not in the log


def who(message: DisplayMessage) -> str:
    """Return the nick if a key proves it, else the id, so that no unproven name is shown."""
    return safe(message.nick) if message.nick else f"<{safe(message.sender_id[:8])}>"


def is_action(message: DisplayMessage) -> bool:
    """True if its text goes on from the name of its author: "ann waves"."""
    return message.kind in (ContentKind.ACTION, ContentKind.OPERATION)


def as_text(message: DisplayMessage, name: str = "", answered: str = "") -> str:
    """Return a message in one line or more. `name`: of its author, if the nick alone does not tell; `answered`: the
    message that it answers, in words."""
    marks = "" if message.state is None else f" [{_fate(message.state, message.sends)}]"
    if message.verdict in ("bad_signature", "mismatched", "not_member"):
        marks += f" [{message.verdict.replace('_', ' ')}]"
    if message.damaged:
        marks += f" [{message.damaged}]"
    if message.via == DIRECT and message.dependencies:
        marks += f" [{len(message.dependencies)} before it lost]"
    text = safe(message.text or "", lines=True).replace("\n", "\n    ")
    answers = f" (answers {answered})" if answered else ""
    colon = "" if is_action(message) else ":"
    return f"{zoned(message.lamport)} {speaker(name or who(message))}{answers}{colon} {text}{marks}"


def _fate(state: AckState, sends: int) -> str:
    """Return the state as the chat names it: an unacked message that was never sent is queued."""
    return "queued" if state is AckState.UNACKED and not sends else state_name(state)


def as_markdown(message: DisplayMessage, name: str = "", answered: str = "") -> str:
    """Return a message as a paragraph of Markdown. The parameters are those of `as_text`."""
    shown = (name or who(message)).strip()  # Markdown draws no bold text that begins or ends with a space
    name = _name(shown or safe(message.sender_id[:8]))
    text = _literal(safe((message.text or "").expandtabs(_TAB), lines=True))
    # An empty line would end the paragraph, and what follows could look like the message of another.
    quoted = _spaced(_EMPTY.sub(" ", text) if text else "").replace("\n", "  \n")
    answers = f", answers {_name(answered)}" if answered else ""
    return f"**{name}** ({zoned(message.lamport)}{answers}){'' if is_action(message) else ':'} {quoted}\n"


def _literal(text: str) -> str:
    """Return the text with every sign of Markdown escaped, so that no list, heading or link comes of it."""
    return _MARKDOWN_LINES.sub(r"\1\\\2", _MARKDOWN_SIGNS.sub(r"\\\g<0>", text))


def _name(text: str) -> str:
    """Escape what `_literal` does, and what programs that draw Markdown take for an address."""
    return _spaced(_LINKS.sub(lambda sign: f"&#{ord(sign[0])};", _literal(text)))


def _spaced(text: str) -> str:
    return _SPACES.sub(lambda run: "&nbsp;" * len(run[0]), text)


def as_json(codec: Codec) -> Callable[[DisplayMessage], str]:
    def show(message: DisplayMessage) -> str:
        text, content = message.text, b""
        if not text and message.raw is not None:
            packet = codec.decode(message.raw)
            content = (packet.content or b"") if isinstance(packet, Message) else b""
            text = text if message.verdict != "unsigned" else _utf8(content)
        said = described(
            message.message_id,
            message.sender_id,
            message.nick or "",
            message.lamport,
            text,
            content,
            own=message.own,
            verdict=message.verdict or "",
        ) | manner(message.kind, message.reply_to)
        line = {"event": "delivered", "channel": message.channel, "time": message.received_at, "message": said}
        line["via"] = message.via
        if message.state is not None:
            line["state"], line["sends"] = state_name(message.state), message.sends
        return json.dumps(line, separators=(",", ":"))

    return show


def direct_as_json(other: str, me: str) -> Callable[[DisplayMessage], str]:
    """Return the JSON line of a direct message as `pipe` prints it: `to` is the reader; there is no Lamport time."""

    def show(message: DisplayMessage) -> str:
        said = described(
            message.message_id,
            message.sender_id,
            message.nick or "",
            None,
            message.text,
            b"",
            own=message.own,
            verdict=message.verdict or "",
        ) | manner(message.kind, message.reply_to)
        line: dict[str, Any] = {
            "event": DIRECT,
            "channel": message.channel,
            "time": message.received_at,
            "message": said,
            "to": other if message.own else me,
        }
        if message.dependencies:
            line["gap"] = message.dependencies
        if message.state is not None:
            line["state"] = state_name(message.state)
        return json.dumps(line, separators=(",", ":"))

    return show


def _utf8(content: bytes) -> str | None:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


_ROWS: Final = 10_000  # rows in memory at a time
_MESSAGE: Final = {
    "channel": "string",
    "message_id": "string",
    "sender_id": "string",
    "nick": "string",
    "lamport": "int64",
    "text": "string",
    "action": "bool",
    "reply_to": "string",
    "verdict": "string",
    "own": "bool",
    "via": "string",
    "received_at": "int64",
    "sent_at": "int64",
    "state": "string",
    "dependencies": "ids",
}
_JOURNAL: Final = {
    "v": "int32",
    "node": "string",
    "boot": "string",
    "seq": "int64",
    "ts_ms": "int64",
    "mono_us": "int64",
    "channel": "string",
    "event": "string",
    "message_id": "string",
    "sender": "string",
    "lamport": "int64",
    "peer": "string",
    "bytes": "int64",
    "payload_bytes": "int64",
    "overhead_bytes": "int64",
    "deps": "ids",
    "attempt": "int64",
    "cause": "string",
    "messages": "int64",
    "fingerprint": "string",
}


def write_messages(messages: Iterable[DisplayMessage]) -> None:
    """Write messages to standard output."""
    _write(_MESSAGE, (_message(each) for each in messages))


def write_journal(rows: Iterable[JournalRow]) -> None:
    """Write rows of the journal to standard output."""
    _write(_JOURNAL, (row._asdict() for row in rows))


def _message(message: DisplayMessage) -> dict[str, Any]:
    found = message._asdict() | {"state": None if message.state is None else state_name(message.state)}
    found |= {"action": is_action(message), "reply_to": message.reply_to or None}
    return found | {"lamport": None} if message.via == DIRECT else found


def _write(columns: Mapping[str, str], rows: Iterator[Mapping[str, Any]]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        from sdschat.audit.errors import install_command

        raise CommandProblem(
            "Parquet needs the package pyarrow, which is not installed. Choose --format json, or do: "
            f"{install_command('pipeline')}",
            WRONG_USE,
        ) from error
    if sys.stdout.isatty():
        raise CommandProblem("Parquet is not for a terminal. Send it to a file: … > history.parquet", WRONG_USE)
    types = {"ids": pyarrow.list_(pyarrow.string()), "bool": pyarrow.bool_()}
    schema = pyarrow.schema([(name, types.get(kind) or pyarrow.type_for_alias(kind)) for name, kind in columns.items()])
    # Parquet needs a file that knows positions, which a pipe on standard output does not: so write a file first.
    with tempfile.TemporaryFile() as file:
        with pyarrow.parquet.ParquetWriter(file, schema) as writer:
            while batch := list(islice(rows, _ROWS)):
                values = {name: [row[name] for row in batch] for name in columns}
                writer.write_table(pyarrow.table(values, schema=schema))
        file.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
