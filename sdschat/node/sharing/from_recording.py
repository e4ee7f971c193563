"""The events of a recording, as a page shows them."""

from __future__ import annotations

import base64
from typing import Final, get_args

from sdschat.node import events
from sdschat.node.events import ev
from sdschat.node.members.events import PostSaid
from sdschat.node.recording.codec import EARLIER, from_json
from sdschat.node.recording.reader import RecordedLine, Recording
from sdschat.node.sharing.events import MEMBERS, MOST, Line, SharedEvents, content_of, line_of
from sdschat.sds.values import Append, Message, MessageKind, Now
from sdschat.store.journal import HERE, LEFT, JournalRow, fingerprint_step, fingerprint_text, journal_rows
from sdschat.wire.nim_codec import EitherCodec

_OF_PRIVATE: Final = (
    events.EpochChanged,
    events.MembersChanged,
    events.MessageWithheld,
    events.NotAMember,
    events.OperationsReworded,
)


class MembersRecording(ValueError):
    """A recording of a members' channel, whose posts can be deleted, is not shared."""


class SharedRecording:
    """Reads the lines of one channel of a recording, in their order."""

    def __init__(self, recording: Recording, channel: str, *, has_texts: bool) -> None:
        """Read the recording. Raises MembersRecording for a members' channel."""
        self.is_private = False
        self._has_texts = has_texts
        self._recording = recording
        self._channel = channel
        self._nicks = {recording.sender_id: recording.nick}
        self._fingerprint = 0
        self._messages = 0
        self._is_whole = True  # false if the recording does not hold all of the log that it began with
        self._lines: list[Line] = []
        self._told: set[str] = set()  # ids of the messages that were shown
        self._codec = EitherCodec()
        for step in recording.steps:
            if step.channel == channel:
                self._read(step)

    def shared(self) -> SharedEvents:
        """Return the events: the newest ones, if they are too many."""
        nicks = {sender_id: nick for sender_id, nick in self._nicks.items() if nick}
        lines = [self._without_hidden(line) for line in self._lines[-MOST:]]
        return SharedEvents(self._channel, self._recording.sender_id, nicks, self._has_texts, lines)

    def _without_hidden(self, line: Line) -> Line:
        """Return a line without the packet of a message that was not shown in this time: of somebody muted, or of a
        stranger who waits; and of one that is not understood."""
        if "packet" not in line:
            return line
        message = self._codec.decode(base64.b64decode(line["packet"]))
        if isinstance(message, Message) and (message.kind is MessageKind.SYNC or message.message_id in self._told):
            return line
        if isinstance(message, Message) and message.sender_id == self._recording.sender_id:
            return line
        return {name: value for name, value in line.items() if name != "packet"}

    def _read(self, step: RecordedLine) -> None:
        fields = step.fields
        try:
            if "w" in fields:
                self._save([write for write in from_json(fields["w"]) if isinstance(write, Append)])
            elif "p" in fields:
                self._packet(step.at, *fields["p"][:3])
            elif "f" in fields:
                self._event(step.at, from_json(fields["f"]))
        except MembersRecording:
            raise
        except Exception:  # of a later version, or damaged: anybody may have written the file
            return

    def _save(self, appended: list[Append]) -> None:
        if not self._lines and len(appended) >= EARLIER:
            self._is_whole = False
        for append in appended:
            entry = append.row.entry
            self._fingerprint = fingerprint_step(self._fingerprint, entry.lamport, entry.message_id)
            self._messages += 1

    def _packet(self, at: int, why: str, raw: str, out: bool) -> None:
        found: Line = {"ts_ms": at, "event": "sent" if out else "received", "cause": why}
        self._lines.append(found | {"bytes": len(base64.b64decode(raw))} | ({"packet": raw} if self._has_texts else {}))

    def _event(self, at: int, body: events.EventBody) -> None:
        self.is_private |= isinstance(body, _OF_PRIVATE)
        match body:
            case PostSaid():
                raise MembersRecording(MEMBERS)
            case events.EphemeralSaid(said=said):
                self._told.add(said.message.message_id)
            case events.MessageDelivered(said=said):
                self._delivered(at, body, said)
            case events.PresenceChanged(sender_id, nick, online):
                self._nicks[sender_id] = nick or self._nicks.get(sender_id, "")
                self._lines.append({"ts_ms": at, "event": HERE if online else LEFT, "sender": sender_id})
            case events.ConnectionChanged(state=state, why=why, ever=ever):
                self._lines.append({"ts_ms": at, "event": state} | ({"cause": why} if why else {}))
                if state == "connected" and not ever:
                    self._lines.append({"ts_ms": at, "event": HERE, "sender": self._recording.sender_id})
            case events.HandedOver(message_id):
                self._lines.append({"ts_ms": at, "event": "published", "message_id": message_id})
            case ev.SyncSent() | ev.MessageResent():
                return  # the packet has a line
            case _ if isinstance(body, get_args(ev.Event)):
                row = journal_rows(body, channel=self._channel, now=Now(at, 0))
                if row is not None:
                    self._lines.append(_without_clock(row))

    def _delivered(self, at: int, body: events.MessageDelivered, said: events.Said) -> None:
        self._told.add(said.message.message_id)
        self._nicks[said.message.sender_id] = said.nick or self._nicks.get(said.message.sender_id, "")
        delivered = ev.Delivered(said.message, said.own, body.late, body.gap, body.via)
        row = journal_rows(delivered, channel=self._channel, now=Now(at, 0))
        assert row is not None
        line = _without_clock(row) | content_of(
            said.nick, said.opened.text, None, self._has_texts, said.opened.reply_to
        )
        if self._is_whole:
            line |= {"messages": self._messages, "fingerprint": fingerprint_text(self._fingerprint)}
        self._lines.append(line)


def _without_clock(row: JournalRow) -> Line:
    """Return the line of a row. A recording has the wall clock alone."""
    line = line_of(row)
    del line["mono_us"]
    return line
