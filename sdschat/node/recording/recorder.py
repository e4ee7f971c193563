"""A recording: everything that a node saved, sent, took and told, as JSON lines with times.

    {"v":1,"t":…,"sender_id":…,"nick":…,"timing":…,"config":{…}}       the first line
    {"t":…,"c":"lobby","w":[…],"x":[…]}                                  saved: writes of the engine, earlier texts
    {"t":…,"c":"lobby","p":["live","…base64…"]}                          a packet: how it came, or why it went
    {"t":…,"c":"lobby","s":"loss 30% in"}                                the faults in force from now on
    {"t":…,"c":"lobby","f":{…}}                                          an event, as it was told

What is saved comes before what is told of it. A recording holds the messages in clear. It has nothing of a members'
channel: what is deleted there is gone for everybody, and the file would keep it.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TextIO

from sdschat.node.channel.extension import ExtensionOutput, PassiveExtension
from sdschat.node.channel.session import ChannelSession
from sdschat.node.events import Joined, NodeEvent, PresenceChanged, TroubleMet
from sdschat.node.node import Node
from sdschat.node.recording.codec import EARLIER, VERSION, to_json
from sdschat.sds.state import Ready
from sdschat.sds.values import (
    Append,
    Entry,
    LogRow,
    Message,
    Now,
    Put,
    Refusal,
    Snapshot,
    Table,
    Write,
)
from sdschat.store.transaction import IndexedText

_NOT_RECORDED: Final = "what is deleted in a members' channel is gone for everybody, and a recording would keep it"


class Recorder:
    """Records a node from its start on. To be attached before a channel is joined, and closed at the end."""

    def __init__(self, node: Node, path: Path) -> None:
        """Make the file. Raises OSError if it cannot be made, or is there already: nobody's recording is written
        over."""
        self._node = node
        self._path = path
        self._file: TextIO | None = _made(path)
        self._faults: dict[str, str] = {}
        self._left_out: set[str] = set()
        self._open = node.recorded  # until it is recorded that they were left
        self._write(
            v=VERSION,
            sender_id=node.sender_id,
            nick=node.nick,
            timing=node.settings.timing,
            config=asdict(node.settings.config),
        )
        node.extend(lambda session: _RecorderExtension(self))
        node.listen(self._hear)

    def _write(self, **line: Any) -> None:
        if self._file is None:
            return
        text = json.dumps({"t": self._node.clock.now().wall, **line}, separators=(",", ":"))
        try:
            self._file.write(text + "\n")
            self._file.flush()
        except (OSError, ValueError) as error:
            self._stop()
            self._node.emit(TroubleMet(f"recording to {self._path} has stopped: {error}"))

    def _hear(self, event: NodeEvent) -> None:
        for channel in self._open - self._node.sessions.keys():
            self._end(channel)
        if isinstance(event.body, Joined):
            self._begin(event.channel)
        if self._leaves_out(event.channel):
            return
        session = self._node.sessions.get(event.channel)
        if session is not None:
            faults = getattr(session.transport, "faults", None)
            text = str(faults) if faults is not None and faults.active else ""
            if text != self._faults.get(event.channel, ""):
                self._faults[event.channel] = text
                self._write(c=event.channel, s=text)
        self._write(c=event.channel, f=to_json(event.body))

    def _end(self, channel: str) -> None:
        """Record that the channel was left."""
        self._open.discard(channel)
        self._write(c=channel, f=to_json(PresenceChanged(self._node.sender_id, self._node.nick, False)))

    def _begin(self, channel: str) -> None:
        """Record the state and the log that the channel had before it was joined."""
        if self._file is not None and not self._leaves_out(channel):
            self._open.add(channel)
        store = self._node.profile.store
        snapshot = store.channel(channel).snapshot()
        if snapshot is None:
            return
        writes, texts = _of_log(self._node, channel)
        self.saved(channel, [*_of_snapshot(snapshot), *writes], texts)

    def saved(self, channel: str, writes: Iterable[Write], texts: Iterable[IndexedText] = ()) -> None:
        """Record the writes of a channel. `texts`: of messages from before; those of others come with the events."""
        if self._leaves_out(channel):
            return
        written, said = [to_json(write) for write in writes], [to_json(text) for text in texts]
        if written or said:
            self._write(c=channel, w=written, x=said)

    def packet(self, channel: str, why: str, raw: bytes, out: bool) -> None:
        if self._leaves_out(channel):
            return
        self._write(c=channel, p=[why, base64.b64encode(raw).decode(), out])

    def _leaves_out(self, channel: str) -> bool:
        """True for a members' channel, of which the user is told once that it is not recorded."""
        if channel not in self._left_out:
            session = self._node.sessions.get(channel)
            if session is None or session.members is None:
                return False
            self._left_out.add(channel)
            self._node.emit(TroubleMet(f"{channel} is not recorded: {_NOT_RECORDED}"))
        return True

    def close(self) -> None:
        """End the recording, and with it what is known of every channel."""
        for channel in sorted(self._open):
            self._end(channel)
        self._stop()

    def _stop(self) -> None:
        file, self._file = self._file, None
        self._open.clear()
        if file is not None:
            with contextlib.suppress(OSError):  # what could not be written was said already
                file.close()


def _made(path: Path) -> TextIO:
    """Make a file that nobody else can read, since it holds messages in clear."""
    if path.is_file():
        raise FileExistsError(errno.EEXIST, "it is there already, and is not written over", str(path))
    return open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))


class _RecorderExtension(PassiveExtension):
    """Sees what a channel saves, and its packets."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def attach(self, session: ChannelSession) -> None:
        self._channel = session.name
        session.watchers.append(self._see)

    def _see(self, why: str, raw: bytes, message: Message | Refusal | None) -> None:
        self._recorder.packet(self._channel, why, raw, message is None)

    def process(self, ready: Ready, now: Now) -> ExtensionOutput:
        self._recorder.saved(self._channel, ready.writes)
        return ExtensionOutput()


def _of_snapshot(snapshot: Snapshot) -> list[Write]:
    """Return the writes that make a database hold a snapshot."""
    found: list[Write] = [Put(Table.CHANNEL, "", snapshot.channel)]
    found += [Put(Table.INCOMING, row.message.message_id, row) for row in snapshot.incoming]
    for table, kept in (
        (Table.OUTGOING, snapshot.outgoing),
        (Table.MISSING, snapshot.missing),
        (Table.GAP, snapshot.gaps),
        (Table.ANSWER, snapshot.answers),
        (Table.PUSH, snapshot.pushes),
        (Table.HINT, snapshot.hints),
    ):
        found += [Put(table, row.message_id, row) for row in kept]
    return found + [Put(Table.PEER, peer.sender_id, peer) for peer in snapshot.peers]


def _of_log(node: Node, channel: str) -> tuple[list[Write], list[IndexedText]]:
    store = node.profile.store
    writes: list[Write] = []
    texts: list[IndexedText] = []
    with store.open_read_only(store.path, node.profile.codec) as reader:
        for message in reader.messages(channel, limit=EARLIER, with_raw=True):
            if message.raw is None:
                continue
            entry = Entry(message.lamport, message.message_id, message.sender_id, message.dependencies)
            writes.append(Append(LogRow(entry, message.raw, message.own, message.via, message.received_at)))
            if message.text is not None:
                texts.append(
                    IndexedText(
                        channel,
                        message.message_id,
                        message.nick or "",
                        message.text,
                        message.verdict or "",
                        message.sent_at or 0,
                    )
                )
    return writes, texts
