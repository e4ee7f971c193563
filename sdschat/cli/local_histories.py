"""The histories of a profile, read from the local database.

Of a channel, of direct messages with one participant, and the posts of a members' channel that are alive.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, Protocol

from sdschat.cli.errors import WRONG_USE, CommandProblem
from sdschat.cli.histories import WantedHistory, codec_of, matching, own_id, require_channel
from sdschat.cli.json_events import post_object
from sdschat.cli.log_formats import DIRECT, as_json, direct_as_json
from sdschat.cli.options import Chosen
from sdschat.cli.output import listed, show_progress
from sdschat.identity.content import envelope_of
from sdschat.identity.signing import by_name, ids_called, sender_id_of
from sdschat.node.members.events import MemberPost
from sdschat.node.members.record import is_members_channel
from sdschat.node.members.saved import muted, saved_posts
from sdschat.node.private.record import full_name
from sdschat.sds.values import AckState, Codec
from sdschat.store.display_rows import DirectRow, DisplayMessage, Key
from sdschat.store.reader import Reader

_LATE: Final = 500  # late messages are noticed only among so many last messages of the log
_SENT: Final = 1  # the database knows if the partner has a message, not how often it was sent


class LocalHistory(Protocol):
    """Implemented by `ChannelHistory` and `DirectHistory`."""

    def start(self) -> None:
        """Mark all present messages as seen, for `more`. Call it before `wanted`."""

    def wanted(self, wanted: WantedHistory) -> Iterable[DisplayMessage]:
        """Return the present messages that are asked for."""

    def more(self) -> Iterator[DisplayMessage]:
        """Yield the messages that came since the last call; a message may come twice."""

    def message(self, message_id: str) -> DisplayMessage | None:
        """Return a message that another one answers; None if it is not here."""

    def as_json(self, message: DisplayMessage) -> str: ...


class ChannelHistory:
    """The log of a channel."""

    def __init__(self, reader: Reader, channel: str, codec: Codec) -> None:
        self._reader = reader
        self._channel = channel
        self._codec = codec
        self.as_json = as_json(codec)
        self._seen: dict[str, None] = {}
        self._newest: Key = (-1, "")
        self._count = -1

    def start(self) -> None:
        self._late()
        self._count = self._total()

    def wanted(self, wanted: WantedHistory) -> Iterable[DisplayMessage]:
        found = self._messages(
            since=wanted.since,
            until=wanted.until,
            search=wanted.search,
            limit=wanted.last if wanted.senders is None else None,
        )
        if wanted.senders is not None:
            theirs = (message for message in found if message.sender_id in wanted.senders)
            return theirs if wanted.last is None else deque(theirs, wanted.last)
        everything = not (wanted.since or wanted.until or wanted.search)
        return show_progress(found, self._channel, wanted.last or (self._total() if everything else None))

    def more(self) -> Iterator[DisplayMessage]:
        """Yield new messages below the newest seen one (late), then those above it, each in the order of the log."""
        total = self._total()
        if total == self._count:
            return
        self._count = total
        newest = self._newest
        late = list(self._late())
        yield from (message for message in late if message.key < newest)
        for message in self._messages(after=newest):
            self._newest = max(self._newest, message.key)
            yield message

    def message(self, message_id: str) -> DisplayMessage | None:
        detail = self._reader.message(self._channel, message_id, ancestors=0)
        return None if detail is None else self._with_manner(detail.message)

    def _messages(self, **which: Any) -> Iterator[DisplayMessage]:
        return map(self._with_manner, self._reader.messages(self._channel, with_raw=True, **which))

    def _with_manner(self, message: DisplayMessage) -> DisplayMessage:
        envelope = envelope_of(self._codec, message.raw)
        if envelope is None or not (envelope.kind or envelope.reply_to):
            return message
        return message._replace(kind=envelope.kind, reply_to=envelope.reply_to)

    def _late(self) -> Iterator[DisplayMessage]:
        found = list(self._messages(limit=_LATE))
        seen, self._seen = self._seen, {message.message_id: None for message in found}
        if found:
            self._newest = max(self._newest, found[-1].key)
        return (message for message in found if message.message_id not in seen)

    def _total(self) -> int:
        return next((info.messages for info in self._reader.channels() if info.channel == self._channel), 0)


class Partner(NamedTuple):
    """The other participant of a direct conversation, and the channels on which it took place."""

    sender_id: str
    channels: tuple[str, ...]


def find_partner(reader: Reader, name: str, channel: str | None) -> Partner:
    """Return the participant with this nick or id. Raises CommandProblem if there is none, or more than one."""
    nicks: dict[str, set[str]] = {}
    channels: dict[str, list[str]] = {}
    for place in [channel] if channel is not None else [info.channel for info in reader.channels()]:
        for _, row in reader.direct(place):
            known = nicks.setdefault(row.peer, set())
            if not row.own:
                known.add(row.nick)
            if place not in channels.setdefault(row.peer, []):
                channels[row.peer].append(place)
    for key, nick, _ in reader.keys():  # noqa: SIM118
        if (sender_id := sender_id_of(key)) in nicks:
            nicks[sender_id].add(nick)
    found = ids_called(name, ((peer, nick) for peer, known in nicks.items() for nick in known or {""}))
    if len(found) > 1:
        raise CommandProblem(
            f"Direct messages with several participants called {name}: {', '.join(found)}. Give the id.", WRONG_USE
        )
    if not found:
        known_names = sorted({nick for known in nicks.values() for nick in known if nick}, key=by_name)
        there = f"There are some with {listed(known_names)}." if known_names else "There are none at all."
        raise CommandProblem(f"There are no direct messages with {name}{_on(channel)}. {there}", WRONG_USE)
    return Partner(found[0], tuple(channels[found[0]]))


def _on(channel: str | None) -> str:
    return "" if channel is None else f" on {channel}"


class DirectHistory:
    """The direct messages with one participant."""

    def __init__(self, reader: Reader, partner: Partner, me: str) -> None:
        self._reader = reader
        self._partner = partner
        self._me = me
        self.as_json = direct_as_json(partner.sender_id, me)
        self._places = dict.fromkeys(partner.channels, 0)
        self._read: dict[str, DisplayMessage] = {}

    def start(self) -> None:
        """Do nothing: the places up to which messages were read are known."""

    def wanted(self, wanted: WantedHistory) -> Iterable[DisplayMessage]:
        found = list(self.more())
        if len(self._partner.channels) > 1:
            found.sort(key=lambda message: message.received_at)
        chosen = matching(found, wanted)
        return chosen if wanted.last is None else deque(chosen, wanted.last)

    def more(self) -> Iterator[DisplayMessage]:
        """Yield new messages, channel after channel, each in the order in which they came."""
        for channel, place in self._places.items():
            for at, row in self._reader.direct(channel, place):
                self._places[channel] = at
                if row.peer == self._partner.sender_id:
                    message = self._read[row.message_id] = self._shown(channel, row)
                    yield message

    def message(self, message_id: str) -> DisplayMessage | None:
        return self._read.get(message_id)

    def _shown(self, channel: str, row: DirectRow) -> DisplayMessage:
        state = AckState(row.state) if row.own else None
        return DisplayMessage(
            channel,
            row.message_id,
            row.received_at,
            self._me if row.own else row.peer,
            row.gap,
            row.own,
            DIRECT,
            row.received_at,
            row.nick,
            row.text,
            row.verdict,
            row.sent_at,
            state,
            _SENT,
            None,
            "",
            row.kind,
            row.reply_to,
        )


_VIA = "sync"  # a post is read from the saved state: by which way it came there is not kept


class MembersHistory:
    """A `LocalHistory` of what is alive."""

    def __init__(self, reader: Reader, channel: str, me: str, nick: str) -> None:
        self._reader = reader
        self._channel = channel
        self._me, self._nick = me, nick
        self._posts: dict[str, MemberPost] = {}
        self._version = -1  # of the database, when it was read last

    def start(self) -> None:
        """Mark all present posts as seen."""
        self._read()

    def wanted(self, wanted: WantedHistory) -> Iterable[DisplayMessage]:
        self._read()
        chosen = matching(map(self._shown, self._listed()), wanted)
        return chosen if wanted.last is None else deque(chosen, wanted.last)

    def more(self) -> Iterator[DisplayMessage]:
        """Yield the posts that came since the last call, and those that were changed."""
        version = self._reader.data_version()
        if version == self._version:
            return
        before = self._posts
        self._read()
        for post in self._listed():
            told = before.get(post.message_id)
            if told is None or told.text != post.text:
                yield self._shown(post)

    def as_json(self, message: DisplayMessage) -> str:
        post = self._posts[message.message_id]
        line = {"event": "delivered", "channel": self._channel, "time": post.sent_at, "message": post_object(post)}
        line |= {"via": _VIA, "settled": post.settled} | ({"state": "queued"} if post.waiting else {})
        return json.dumps(line, separators=(",", ":"))

    def message(self, message_id: str) -> DisplayMessage | None:
        post = self._posts.get(message_id)
        return None if post is None else self._shown(post)

    def _read(self) -> None:
        self._version = self._reader.data_version()
        self._posts = {post.message_id: post for post in saved_posts(self._reader, self._channel, self._me, self._nick)}

    def _listed(self) -> Iterator[MemberPost]:
        """Return the posts whose authors are not muted."""
        hidden = muted(self._reader)
        return (post for post in self._posts.values() if post.sender_id not in hidden)

    def _shown(self, post: MemberPost) -> DisplayMessage:
        return DisplayMessage(
            self._channel,
            post.message_id,
            post.sent_at,
            post.sender_id,
            (),
            post.own,
            _VIA,
            post.sent_at,
            post.nick,
            f"{post.text} (edited)" if post.edited else post.text,
            "known",
            post.sent_at,
            AckState.UNACKED if post.waiting else None,
            0,
            None,
            "",
            reply_to=post.reply_to,
        )


def asked_history(chosen: Chosen, reader: Reader, wanted: WantedHistory) -> LocalHistory:
    """Return the history that is asked for: of a channel, or of direct messages with one participant."""
    channel, to = _split(reader, wanted)
    if to:
        return DirectHistory(reader, find_partner(reader, to, channel), own_id(chosen))
    assert channel is not None
    channel = full_name(reader, channel)
    if is_members_channel(reader, channel):
        return MembersHistory(reader, channel, own_id(chosen), chosen.nick)
    return ChannelHistory(reader, require_channel(reader, chosen, channel), codec_of(chosen))


def _split(reader: Reader, wanted: WantedHistory) -> tuple[str | None, str]:
    """Return channel and partner. @NICK names a partner, unless a channel has that name."""
    channel = wanted.channel
    if wanted.to or channel is None or not channel.startswith("@"):
        return channel, wanted.to.removeprefix("@")
    if channel in [info.channel for info in reader.channels()]:
        return channel, ""
    if channel == "@":
        raise CommandProblem("@ alone is nobody: direct messages are those with @NICK.", WRONG_USE)
    return None, channel.removeprefix("@")
