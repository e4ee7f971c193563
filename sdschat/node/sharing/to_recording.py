"""A page, or the events saved from one, as a recording that can be played.

The page has no more than its lines (`events.py`), and a recording is made of them: messages, states, what was missing
and lost, who was heard. A message whose packet is not in the page has a text in its place. What a line does not have,
such as filters and timers of the engine, is not shown either.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, Final

from sdschat.identity.content import OpenedContent, Verdict, open_content
from sdschat.node import events
from sdschat.node.events import EventBody, ev
from sdschat.node.recording.codec import to_json
from sdschat.node.recording.reader import (
    LONGEST_LINE,
    USUAL_SETTINGS,
    RecordedLine,
    Recording,
    RecordingError,
    read_recording,
)
from sdschat.node.sharing.events import MOST, Line
from sdschat.sds import values
from sdschat.sds.values import AckState, Append, Drop, Evidence, HistoryEntry, Message, OutgoingRow, Put, Table
from sdschat.store.journal import EVENT_NAMES, HERE, LEFT
from sdschat.wire.nim_codec import EitherCodec

_LARGEST: Final = 256 * 1024 * 1024  # bytes of a page
_BEGIN, _END = 'id="lines">\n', "\n</script>"
_BY_NAME: Final = {name: (kind, fields) for kind, (name, fields) in EVENT_NAMES.items()}
_STATES: Final = {
    "acked": AckState.ACKED,
    "possibly_acked": AckState.POSSIBLY_ACKED,
    "unproven": AckState.UNACKED,
}
_NO_REASON: Final = "for a reason that the page does not tell"
_CONNECTION: Final = ("connecting", "connected", "disconnected")


def read_played(path: Path) -> Recording:
    """Return a recording, or one made of a page or of its saved events. Raises RecordingError, and OSError."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(LONGEST_LINE)
        is_page = first.startswith("<!doctype html>")
        if not is_page and not _is_head(_json(first)):
            return read_recording(path)
        text = first + file.read(_LARGEST)
    block = text.partition(_BEGIN)[2].partition(_END)[0] if is_page else text
    head, *lines = [_json(line) for line in block.split("\n") if line] or [None]
    if not _is_head(head):
        raise RecordingError(f"{path} is no page of sdschat share, and no recording. Neither can be played.")
    assert head is not None
    return _Lines(head, lines[:MOST]).recording()


def _json(text: str) -> Line | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_head(line: Line | None) -> bool:
    return line is not None and "texts" in line and isinstance(line.get("nicks"), dict)


class _Met:
    """The keys whose messages are in the lines so far."""

    def __init__(self) -> None:
        self._keys: set[bytes] = set()

    def knows(self, key: bytes) -> bool:
        known = key in self._keys
        self._keys.add(key)
        return known

    def signs(self, sender_id: str) -> bool:
        return False


class _Lines:
    """Reads the lines of a page in their order, and makes the steps of a recording of them."""

    def __init__(self, head: Line, lines: list[Line | None]) -> None:
        self._channel = str(head.get("channel", ""))[:100] or "channel"
        self._node = str(head.get("node", ""))
        self._nicks = {str(name): str(nick) for name, nick in head["nicks"].items()}
        self._codec = EitherCodec()
        self._met = _Met()
        self._packets: dict[str, bytes] = {}  # by message id
        self._outgoing: dict[str, OutgoingRow] = {}
        self._here: set[str] = {self._node}  # those whose presence was told
        self._present: set[str] = set()
        self._steps: list[RecordedLine] = []
        self._at = 0
        self._lamport = 0
        self._last = (0, "")  # place of the last message of the log
        self._skipped = 0  # lines that cannot be used
        said = [line for line in lines if line is not None and line.get("event") == "delivered"]
        self._authors = {str(line.get("message_id")): str(line["sender"]) for line in said if line.get("sender")}
        for line in lines:
            try:
                self._read(line or {})
            except (KeyError, TypeError, ValueError, AttributeError):
                self._skipped += 1

    def recording(self) -> Recording:
        nick = self._nicks.get(self._node, "")
        return Recording(self._node, nick, USUAL_SETTINGS, self._steps, self._skipped)

    def _step(self, **fields: Any) -> None:
        self._steps.append(RecordedLine(self._at, self._channel, fields))

    def _event(self, body: EventBody) -> None:
        self._step(f=to_json(body))

    def _save(self, *writes: values.Write) -> None:
        self._step(w=[to_json(write) for write in writes])

    def _read(self, line: Line) -> None:
        at, name = line["ts_ms"], line["event"]
        if not isinstance(at, int) or not isinstance(name, str):
            raise ValueError(line)
        begins = not self._steps
        self._at = max(self._at, at)
        if begins:
            self._save(self._channel_row())
            self._event(events.Joined(self._node, self._nicks.get(self._node, ""), 0))
            if name not in _CONNECTION:
                self._event(events.ConnectionChanged("connected", ""))
        for other in (line.get("sender"), line.get("peer")):
            if isinstance(other, str) and name not in (HERE, LEFT):
                self._meet(other)
        packet = base64.b64decode(line["packet"], validate=True) if "packet" in line else None
        if packet is not None:
            self._keep(packet)
        if name == "delivered":
            self._delivered(line)
        elif name in _STATES:
            self._witnessed(line, _STATES[name])
        elif name in ("sent", "received") and packet is not None:
            self._step(p=[str(line.get("cause", "")), line["packet"], name == "sent"])
        else:
            self._other(name, line)

    def _meet(self, sender_id: str) -> None:
        """Tell that somebody is here, once: whoever is heard is, and older pages have nothing else of it."""
        if sender_id not in self._here:
            self._presence(sender_id, True)

    def _presence(self, sender_id: str, is_here: bool) -> None:
        if sender_id not in self._here and sender_id != self._node:
            peer = values.PeerRow(sender_id, 0, 0, self._at, 0, 0, b"", b"", 0, "")
            self._save(Put(Table.PEER, sender_id, peer))  # it stays in the list when it leaves
        self._here.add(sender_id)
        (self._present.add if is_here else self._present.discard)(sender_id)
        self._event(events.PresenceChanged(sender_id, self._nicks.get(sender_id, ""), is_here))

    def _keep(self, packet: bytes) -> None:
        message = self._codec.decode(packet)
        if isinstance(message, Message) and message.content is not None:
            self._packets[message.message_id] = packet

    def _channel_row(self) -> Put:
        zeros = dict.fromkeys(values.ChannelRow._fields, 0)
        row = values.ChannelRow(**{**zeros, "layout": "compact", "lamport": self._lamport, "floor": self._at})  # type: ignore[arg-type]
        return Put(Table.CHANNEL, "", row)

    def _delivered(self, line: Line) -> None:
        message_id, sender_id, deps = str(line["message_id"]), str(line["sender"]), _ids(line)
        self._lamport = max(self._lamport, int(line["lamport"]))
        raw = self._packets.get(message_id)
        message = None if raw is None else self._codec.decode(raw)
        nick = str(line.get("nick", ""))
        if not isinstance(message, Message) or message.content is None:
            text = str(line["text"]) if "text" in line else f"({line.get('text_length', 'some')} characters left out)"
            history = tuple(HistoryEntry(each) for each in deps)
            message = Message(
                sender_id, message_id, self._channel, int(line["lamport"]), history, content=text.encode()
            )
            raw = self._codec.encode(message)
            opened = OpenedContent(Verdict.KNOWN if nick else Verdict.UNSIGNED, text, nick=nick)
        else:
            opened = open_content(message.content, self._channel, sender_id, message_id, self._met)
            if opened.verdict is Verdict.NEW and sender_id == self._node:
                opened = opened._replace(verdict=Verdict.KNOWN)
        assert raw is not None
        own, via = sender_id == self._node, str(line.get("cause", "live"))
        entry = values.Entry(int(line["lamport"]), message_id, sender_id, deps)
        writes: list[values.Write] = [Append(values.LogRow(entry, raw, own, via, self._at)), self._channel_row()]
        writes.append(Drop(Table.MISSING, message_id))
        if own:
            self._outgoing[message_id] = OutgoingRow(message_id, entry.lamport, AckState.UNACKED, 1, self._at, ())
            writes.append(Put(Table.OUTGOING, message_id, self._outgoing[message_id]))
        self._save(*writes)
        said = events.Said(message, opened, nick, own)
        is_late = (entry.lamport, message_id) < self._last
        self._last = max(self._last, (entry.lamport, message_id))
        self._event(events.MessageDelivered(said, is_late, (), via))

    def _witnessed(self, line: Line, state: AckState) -> None:
        row = self._outgoing[line["message_id"]]
        how, peer, signed = str(line.get("cause", "")), str(line["peer"]), line["event"] != "unproven"
        new = Evidence(peer, how, "", self._at, 0.0, signed)  # 0: the page does not tell the rate of a filter
        row = row._replace(state=max(row.state, state), evidence=(*row.evidence, new))
        self._outgoing[row.message_id] = row
        self._save(Put(Table.OUTGOING, row.message_id, row))
        by = tuple(dict.fromkeys(each.sender_id for each in row.evidence if each.signed and each.certain))
        rest = [each for each in row.evidence if each.sender_id not in by]
        perhaps = tuple(dict.fromkeys(each.sender_id for each in rest if each.signed))
        unproven = tuple(dict.fromkeys(each.sender_id for each in rest if not each.signed))
        resends = int(line.get("attempt") or 0)
        self._event(ev.StateChanged(row.message_id, row.state, by, resends, new, perhaps, unproven))

    def _other(self, name: str, line: Line) -> None:
        match name:
            case "here" | "left" if line["sender"] == self._node:  # another run begins, or ends: nobody is here
                for sender_id in sorted(self._present):
                    self._presence(sender_id, False)
                self._here = {self._node}
            case "here" | "left":
                self._presence(str(line["sender"]), name == HERE)
            case "published":
                self._event(events.HandedOver(str(line["message_id"])))
            case _ if name in _CONNECTION:
                why = str(line.get("cause") or "")
                words = f"({why.replace('_', ' ')})" if why else _NO_REASON
                self._event(events.ConnectionChanged(name, "", why, words if name == "disconnected" else ""))
            case _ if name in _BY_NAME:
                self._save_gaps(name, line)
                kind, fields = _BY_NAME[name]
                self._event(kind(**{field: _field(kind, field, fields, line) for field in kind._fields}))  # type: ignore[attr-defined]

    def _save_gaps(self, name: str, line: Line) -> None:
        """Save what is missing and lost from now on. What waits for something missing is here itself."""
        if name == "missing":
            self._save(Drop(Table.MISSING, str(line.get("message_id", ""))))
        for dep in _ids(line) if name in ("missing", "lost") else ():
            if name == "missing":
                lost_at = self._at + USUAL_SETTINGS.config.lost_after
                row = values.MissingRow(dep, self._authors.get(dep), None, "", self._at, lost_at, 0, 0, 0)
                self._save(Put(Table.MISSING, dep, row))
            else:
                self._save(
                    Drop(Table.MISSING, dep),
                    Put(Table.GAP, dep, values.GapRow(dep, "lost", self._authors.get(dep), self._at)),
                )
        if name == "gap_closed":
            self._save(Drop(Table.GAP, str(line["message_id"])))


def _ids(line: Line) -> tuple[str, ...]:
    return tuple(str(each) for each in line.get("deps") or ())


def _field(kind: type, field: str, columns: dict[str, str], line: Line) -> Any:
    """Return the value of a field of an event: from its column, or what stands for a value that the page has not."""
    value = line.get(columns.get(field, ""))
    if kind is ev.Rejected and field == "reason":
        return values.Reason(str(value))
    if field in ("dependencies", "message_ids"):
        return _ids(line)
    if field in ("due", "generation", "floor", "lamport", "low", "high", "ahead"):
        return int(value or 0)
    return str(value or "")
