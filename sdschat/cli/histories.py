"""Opening the database of a profile, and the part of a history that the user asked for."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sdschat.cli.errors import PROFILE, WRONG_USE, CommandProblem, say
from sdschat.cli.options import STORE_NAME, WORKED_OUT, Chosen
from sdschat.cli.output import counted, listed, safe
from sdschat.identity.key_book import KeyBook
from sdschat.identity.key_rows import KeyRow, NickRow
from sdschat.identity.keyfile import KEY_FILE, KeyFileError, load
from sdschat.identity.signing import by_name, goes_by, sender_id_of
from sdschat.node.channel.strangers_share import saved_strangers
from sdschat.node.private.record import full_name
from sdschat.node.profile import profile_names
from sdschat.node.view.moments import parse_moment, parse_search
from sdschat.node.view.tags import are_alike, tag_among
from sdschat.node.view.user_texts import silent_nicks
from sdschat.store.display_rows import ChannelInfo, DisplayMessage
from sdschat.store.reader import Reader
from sdschat.store.store import Store
from sdschat.wire.nim_codec import EitherCodec


def codec_of(chosen: Chosen) -> EitherCodec:
    return EitherCodec(chosen.settings.config.max_message_bytes)


@contextmanager
def open_reader(chosen: Chosen) -> Iterator[Reader]:
    """Open the database for reading, also while a node writes there. Raises CommandProblem for an unknown profile."""
    path = chosen.database
    try:
        os.stat(path)
    except PermissionError as error:
        raise CommandProblem(f"{path} cannot be read: no permission. Is it another user's?", PROFILE) from error
    except OSError as error:
        known = profile_names(chosen.data_dir)
        there = "There is none at all: sdschat join CHANNEL --name NICK begins one."
        if known == [STORE_NAME]:
            there = f"There is only that of a Store: --profile {STORE_NAME} reads it."
        elif known:
            are = "is" if len(known) == 1 else "are"
            there = f"There {are} {', '.join(known)}. Choose one with --profile or --name."
        absent = f"There is no profile {chosen.profile} in {chosen.data_dir}."
        nothing_said = all(chosen.general[each].origin in WORKED_OUT for each in ("name", "profile"))
        if nothing_said and chosen.profile != STORE_NAME and len(known) > 1:
            absent = f"None of the profiles in {chosen.data_dir} has your user name, {chosen.profile}."
        raise CommandProblem(f"{absent} {there}", WRONG_USE) from error
    reader = Store.open_read_only(path, codec_of(chosen))
    try:
        yield reader
    finally:
        reader.close()


def require_channel(reader: Reader, chosen: Chosen, channel: str) -> str:
    """Return the full name of a channel of this profile. Raises CommandProblem if it has none of this name."""
    channel = full_name(reader, channel)
    names = [info.channel for info in reader.channels()]
    if channel not in names:
        known = f"It has {listed(names)}." if names else "It has none yet."
        raise CommandProblem(f"The profile {chosen.profile} has no channel {channel}. {known}", WRONG_USE)
    return channel


@dataclass(frozen=True, slots=True)
class WantedHistory:
    """The part of the history that the user asked for. Times are epoch milliseconds."""

    channel: str | None  # None: direct messages on every channel
    to: str  # empty: the channel itself
    since: int | None
    until: int | None
    search: str
    last: int | None
    senders: frozenset[str] | None = None  # None: everybody

    def includes(self, moment: int) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment <= self.until)


def asked_moment(text: str | None) -> int | None:
    """Return the moment of an option. Raises CommandProblem for what is none."""
    try:
        return parse_moment(text, time.time_ns() // 1_000_000) if text is not None else None
    except ValueError as error:
        raise CommandProblem(safe(str(error)), WRONG_USE) from error


def matching(messages: Iterable[DisplayMessage], wanted: WantedHistory) -> Iterator[DisplayMessage]:
    """Yield the messages of the wanted time and senders with all wanted words."""
    words = wanted.search.casefold().split()
    for message in messages:
        text = (message.text or "").casefold()
        is_theirs = wanted.senders is None or message.sender_id in wanted.senders
        if is_theirs and wanted.includes(message.lamport) and all(word in text for word in words):
            yield message


def with_senders(chosen: Chosen, reader: Reader, wanted: WantedHistory) -> WantedHistory:
    """Return what is wanted with `from:`, `since:` and `before:` of its words read. Raises CommandProblem for what is
    no moment, and if nobody of such a name is known."""
    try:
        asked = parse_search(wanted.search, time.time_ns() // 1_000_000)
    except ValueError as error:
        raise CommandProblem(safe(str(error)), WRONG_USE) from error
    if asked.to_me:
        raise CommandProblem(
            "to:me is for the search of the chat: there your nick and the words of /highlight say what is to you.",
            WRONG_USE,
        )
    since = max(filter(None, (wanted.since, asked.since)), default=None)
    until = min((at for at in (wanted.until, asked.before and asked.before - 1) if at is not None), default=None)
    wanted = replace(wanted, search=asked.text, since=since, until=until)
    if not asked.names:
        return wanted
    channel = None if wanted.channel is None else full_name(reader, wanted.channel)
    known = [(sender_id_of(key), nick) for key, nick, _ in reader.keys()]  # noqa: SIM118
    known += silent_nicks(reader.value, channel or "").items()
    known += [(own_id(chosen), nick) for nick in (chosen.nick, *({"me"} & {*asked.names}))]
    senders = {sender_id for name in asked.names for sender_id in senders_called(known, name)}
    return replace(wanted, senders=frozenset(senders))


def channels_of(reader: Reader) -> list[ChannelInfo]:
    """Return the channels of a profile, in the order of their names."""
    return sorted(reader.channels(), key=lambda info: by_name(info.channel))


def senders_called(known: Collection[tuple[str, str]], name: str, unlisted: str = "") -> list[str]:
    """Return the sender ids that a nick, or the beginning of an id, means. `known`: sender ids and nicks. Raises
    CommandProblem if there is none, which lists them without `unlisted`."""
    found = [sender_id for sender_id, nick in known if goes_by(sender_id, nick, name)]
    if not found:
        names = listed(sorted({nick for one, nick in known if nick and one != unlisted}, key=by_name))
        there = f"Known are: {names}." if names else "Nobody signed anything here yet."
        raise CommandProblem(f"Nobody known here goes by {safe(name)}. {there}", WRONG_USE)
    return found


def own_id(chosen: Chosen) -> str:
    """Return the sender id of the profile, or an empty text if its key cannot be read."""
    with contextlib.suppress(OSError, KeyFileError):
        return load(chosen.database.parent / KEY_FILE).sender_id
    return ""


class AuthorTags:
    """Tells authors of one nick, or of nicks that look alike, apart as the chat does: by the beginnings of ids."""

    def __init__(self, chosen: Chosen, reader: Reader) -> None:
        self._reader = reader
        self._me, self._nick = own_id(chosen), chosen.nick
        self._tags: dict[tuple[str, str], str] = {}
        self._version = -1  # of the database, when the keys were read last

    def tag_of(self, sender_id: str, nick: str) -> str:
        """Return the letters that stand beside a nick; empty if nobody else goes by it."""
        tag = self._tags.get((sender_id, nick))
        if tag is None:
            self._read()  # with --follow, the keys of new participants
            like_us = {self._me} if sender_id != self._me and are_alike(nick, self._nick) else set()
            tag = tag_among(sender_id, nick, like_us | self._book.others_called(nick, sender_id))
            self._tags[sender_id, nick] = tag
        return tag

    def _read(self) -> None:
        if (version := self._reader.data_version()) == self._version:
            return
        self._version = version
        self._tags.clear()
        keys = (KeyRow(*row) for row in self._reader.keys())  # noqa: SIM118
        self._book = KeyBook([*keys, *(NickRow(*row) for row in self._reader.nicks())])


def tell_strangers(reader: Reader, channel: str) -> None:
    """Say that messages are left out because their authors came with too many others."""
    senders, messages = saved_strangers(reader, channel)
    if senders:
        waiting = f"{counted(senders, 'sender')} more, with {counted(messages, 'message')}, not shown"
        say(f"{waiting}: /strangers in the chat opens them")
