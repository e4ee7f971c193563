"""Messages of a history as text, Markdown or JSON lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from sdschat.cli.json_events import described, state_name
from sdschat.cli.output import moment, safe
from sdschat.sds.values import AckState, Codec, Message
from sdschat.store.display_rows import DisplayMessage

_MARKDOWN_SIGNS: Final = re.compile(r"[\\`*_{}\[\]<>#|!&~]")
_MARKDOWN_LINES: Final = re.compile(r"(?m)^(\s*)([-+=])")  # signs at the beginning of a line only
DIRECT = "direct"  # the `via` of a direct message, which is not in the log


def who(message: DisplayMessage) -> str:
    """Return the nick if a key proves it, else the id, so that no unproven name is shown."""
    return safe(message.nick) if message.nick else f"<{safe(message.sender_id[:8])}>"


def as_text(message: DisplayMessage) -> str:
    marks = "" if message.state is None else f" [{_fate(message.state, message.sends)}]"
    if message.verdict in ("bad_signature", "mismatched", "not_member"):
        marks += f" [{message.verdict.replace('_', ' ')}]"
    if message.damaged:
        marks += f" [{message.damaged}]"
    if message.via == DIRECT and message.dependencies:
        marks += f" [{len(message.dependencies)} before it lost]"
    text = safe(message.text or "", lines=True).replace("\n", "\n    ")
    return f"{moment(message.lamport)} {who(message)}: {text}{marks}"


def _fate(state: AckState, sends: int) -> str:
    """Return the state as the chat names it: an unacked message that was never sent is queued."""
    return "queued" if state is AckState.UNACKED and not sends else state_name(state)


def as_markdown(message: DisplayMessage) -> str:
    name = _literal(safe(message.nick or message.sender_id[:8]))
    quoted = _literal(safe(message.text or "", lines=True)).replace("\n", "  \n")
    return f"**{name}** ({moment(message.lamport)}): {quoted}\n"


def _literal(text: str) -> str:
    """Return the text with every sign of Markdown escaped, so that no list, heading or link comes of it."""
    return _MARKDOWN_LINES.sub(r"\1\\\2", _MARKDOWN_SIGNS.sub(r"\\\g<0>", text))


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
        )
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
        )
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
