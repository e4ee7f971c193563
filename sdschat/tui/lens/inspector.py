"""Observation of the channels of a node: one trace for each, and the input of the views made from it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, TypeVar

from sdschat.node.channel.extension import Watcher
from sdschat.node.events import (
    Joined,
    MessageWithheld,
    NodeEvent,
    OperationsReworded,
    PostDeleted,
    PostEdited,
    PostRewritten,
)
from sdschat.node.node import Node
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.engine_snapshot import peek
from sdschat.node.view.members import MembersConversation, has_members, peek_members
from sdschat.node.view.private import is_only_member
from sdschat.node.view.values import Message, Refusal, Shown, Verdict
from sdschat.tui.lens import events, faulting, filter_view, graph, matrix, members, packet, peers, repair, why
from sdschat.tui.lens.trace import LensTrace, LogLine
from sdschat.tui.lens.view_input import VIEW_NAMES, Line, ViewInput, folded
from sdschat.tui.model.words import NAME_LIMIT, UNICODE, Glyphs, clean_name, count, cutting_with, tagged_nick

T = TypeVar("T")
View = Callable[[ViewInput], list[Line]]
_IN_ORDER: Final[tuple[View, ...]] = (  # of `VIEW_NAMES`, which commands need before any view is loaded
    why.view,
    repair.view,
    packet.view,
    graph.view,
    matrix.view,
    filter_view.view,
    peers.view,
    events.view,
    faulting.view,
    members.tree,
    members.clock,
    members.checkpoint,
    members.committee,
)
VIEWS: Final[Mapping[str, View]] = dict(zip(VIEW_NAMES, _IN_ORDER, strict=True))
_OF_MEMBERS: Final = frozenset({"tree", "clock", "checkpoint", "committee"})
_EARLIER: Final = 200  # messages of the log from before the observation began
_REMEMBERED: Final = 1024
_CHANGES_TEXT: Final = (PostEdited, PostDeleted, PostRewritten, OperationsReworded, MessageWithheld)
_log = logging.getLogger("sdschat.tui")


def view_named(name: str) -> View:
    """Return a view. Raises ValueError if there is no view with this name."""
    try:
        return VIEWS[name]
    except KeyError:
        raise ValueError(f"There is no view {name!r}. There are: {', '.join(VIEWS)}.") from None


def views_of(node: Node, channel: str) -> list[str]:
    """Return the names of the views that have something to show for a channel, in order."""
    return [name for name in VIEWS if name not in _OF_MEMBERS or has_members(node, channel)]


class LensInspector:
    """Observes all channels of a node. `hear` takes every event; `close` ends the observation."""

    def __init__(self, node: Node, view: Conversations) -> None:
        self.node = node
        self._view = view
        self._traces: dict[str, LensTrace] = {}
        self._watchers: dict[str, Watcher] = {}
        self._found = lru_cache(maxsize=_REMEMBERED)(self._look_up)
        for channel in node.sessions:
            self._watch(channel)
        for event in list(node.recent):
            self.hear(event)

    def trace(self, channel: str) -> LensTrace:
        found = self._traces.get(channel)
        if found is None:
            found = self._traces[channel] = LensTrace(self.node.sender_id)
            for shown in self._view.channel(channel).messages(limit=_EARLIER):
                found.add(
                    LogLine(
                        shown.lamport,
                        shown.message_id,
                        shown.sender_id,
                        shown.dependencies,
                        shown.own,
                        shown.verdict in (Verdict.KNOWN, Verdict.NEW),
                    )
                )
        return found

    def hear(self, event: NodeEvent) -> None:
        if not event.channel:
            return
        if isinstance(event.body, Joined):
            self._watch(event.channel)
        if isinstance(event.body, _CHANGES_TEXT):
            self._found.cache_clear()
        self.trace(event.channel).hear(event)

    def _watch(self, channel: str) -> None:
        """Begin to observe the packets of a channel."""
        session = self.node.sessions.get(channel)
        if session is None or self._watchers.get(channel) in session.watchers:
            return
        trace = self.trace(channel)

        def see(why: str, raw: bytes, message: Message | Refusal | None) -> None:
            try:
                trace.see(self.node.clock.now().wall, why, raw, message)
            except Exception:  # an error of the Lens must never stop a packet
                _log.exception("the Lens could not look at a packet")

        self._watchers[channel] = see
        session.watchers.append(see)

    def close(self) -> None:
        for channel, watcher in self._watchers.items():
            session = self.node.sessions.get(channel)
            if session is not None and watcher in session.watchers:
                session.watchers.remove(watcher)
        self._watchers.clear()

    def lines(
        self,
        view: str,
        channel: str,
        selection: str | None = None,
        argument: str = "",
        width: int = 60,
        glyphs: Glyphs = UNICODE,
    ) -> list[Line]:
        """Return a view of a channel. Raises ValueError for an unknown view, or a channel that is not open."""
        show = view_named(view)
        if channel not in self.node.sessions:
            raise ValueError(f"The channel {channel!r} is not open.")
        with cutting_with(glyphs.cut):
            drawn = show(self._view_input(channel, selection, argument, max(20, width), glyphs))
            return [part for line in drawn for part in folded(line, max(8, width))]

    def _view_input(self, channel: str, selection: str | None, argument: str, width: int, glyphs: Glyphs) -> ViewInput:
        node, log = self.node, self._view.channel(channel)
        session = node.sessions[channel]
        injection = Injection(node, channel)

        def nick_of(sender_id: str) -> str:
            here = session.presence.online.get(sender_id)
            nick = here or log.nick_of(sender_id) or log.presence_nick(sender_id)
            tag = log.tag_of(sender_id, nick)
            return tagged_nick(clean_name(nick, limit=NAME_LIMIT - len(tag) - 1), tag)

        def message(message_id: str) -> Shown | None:
            try:
                return log.covered(self._found(channel, message_id))
            except LookupError:
                return None

        def raw(message_id: str) -> bytes | None:
            held = session.channel.state.incoming.buffered.get(message_id)
            return log.raw(message_id) if held is None else held.raw

        return ViewInput(
            peek(session, node.sender_id, node.clock.now()),
            self.trace(channel),
            _once(nick_of),
            message,
            _once(log.own),
            raw,
            selection,
            argument,
            width,
            glyphs,
            injection.describe(),
            peek_members(node, channel),
            tuple(_carried(injection)),
            log.people,
            is_only_member(node, channel),
            log.journey if isinstance(log, MembersConversation) else None,
        )

    def _look_up(self, channel: str, message_id: str) -> Shown:
        shown = self._view.channel(channel).uncovered(message_id)
        if shown is None:
            raise LookupError  # so that the cache does not keep it: the message may still arrive
        return shown


def _once(look_up: Callable[[str], T]) -> Callable[[str], T]:
    """Return a function that remembers the answers of `look_up`, for one drawing of a view."""
    found: dict[str, T] = {}

    def ask(key: str) -> T:
        if key not in found:
            found[key] = look_up(key)
        return found[key]

    return ask


def _carried(injection: Injection) -> list[str]:
    return [
        f"{way}: {count(done.lost, 'packet')} lost, {done.duplicated} doubled, {done.reordered} held back, "
        f"{done.corrupted} spoilt"
        for way, done in injection.carried().items()
    ]
