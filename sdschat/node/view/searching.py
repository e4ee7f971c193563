"""A search of a long history beside the loop: in a thread with a connection of its own, so that no key waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple

from sdschat.identity.signing import goes_by
from sdschat.node.node import Node
from sdschat.node.view.channel import ChannelConversation
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import Conversation, Key, Shown, Verdict
from sdschat.store.errors import StoreError

_PAGE: Final = 500  # messages that are read at once where each is looked at
_EVERYTHING: Final = 1_000_000  # more messages than a conversation that is searched in memory has


class SearchQuery(NamedTuple):
    """The messages that a search is for. Times are epoch milliseconds by the order of the log."""

    words: str = ""  # all of them, in any order; the last one may be a beginning
    senders: tuple[str, ...] = ()  # ids; empty: everybody
    since: int | None = None  # included
    before: int | None = None  # excluded
    names_us: Callable[[str], bool] | None = None  # with it, only texts that name us, and answers to messages of ours

    def includes(self, shown: Shown) -> bool:
        """True if author and time are the wanted ones."""
        return (
            (not self.senders or shown.sender_id in self.senders)
            and (self.since is None or shown.lamport >= self.since)
            and (self.before is None or shown.lamport < self.before)
        )


def senders_called(view: Conversations, channel: str, name: str) -> tuple[str, ...]:
    """Return the ids of all who go by this nick, here or earlier, or whose id begins so. The user is `me` as well."""
    here = ((person.sender_id, person.nick) for person in view.channel(channel).people())
    known = (*here, *view.node.gate.book.nicks(), (view.node.sender_id, "me"))
    return tuple(sorted({sender_id for sender_id, nick in known if goes_by(sender_id, nick, name)}))


class HistorySearch:
    """One search. It can be stopped while it runs, for a newer one."""

    def __init__(self, node: Node, conversation: Conversation, wanted: SearchQuery, limit: int) -> None:
        self._node = node
        self._conversation = conversation
        self._wanted = wanted
        self._limit = limit
        self._stopped = False

    def stop(self) -> None:
        """End the search soon; it then finds nothing."""
        self._stopped = True

    async def run(self) -> list[Key]:
        """Return the keys of the newest messages that are wanted, oldest first. Raises StoreError."""
        if type(self._conversation) is ChannelConversation:
            try:
                return await asyncio.to_thread(self._read)
            except asyncio.CancelledError:
                self.stop()  # the thread would go on, and the program would wait for it
                raise
        return self._in_memory()[-self._limit :]

    def _in_memory(self) -> list[Key]:
        """Search a conversation whose messages are in memory: of two, or of members."""
        wanted, conversation = self._wanted, self._conversation
        if wanted.names_us is not None:
            return self._said_to_us(conversation, wanted.names_us)
        most = self._limit if wanted == SearchQuery(wanted.words) else _EVERYTHING
        found = conversation.search(wanted.words, limit=most) if wanted.words else conversation.messages(limit=most)
        return [shown.key for shown in found if wanted.includes(shown)]

    def _said_to_us(self, conversation: Conversation, names_us: Callable[[str], bool]) -> list[Key]:
        """Read a conversation backwards, since no index knows what is to us."""

        def is_to_us(shown: Shown) -> bool:
            if shown.own or shown.text is None or shown.verdict == Verdict.NOT_MEMBER:
                return False
            answered = conversation.message(shown.reply_to) if shown.reply_to else None
            says = names_us(shown.text) or (answered is not None and answered.own)
            return says and not self._node.gate.is_muted(shown.sender_id)

        wanted, found = self._wanted, list[Key]()
        before = None if wanted.before is None else (wanted.before, "")
        while len(found) < self._limit:
            page = (
                conversation.search(wanted.words, limit=_PAGE, before=before)
                if wanted.words
                else conversation.messages(limit=_PAGE, before=before)
            )
            found += [shown.key for shown in reversed(page) if wanted.includes(shown) and is_to_us(shown)]
            if len(page) < _PAGE or page[0].lamport < (wanted.since or 0):
                break
            before = page[0].key
        return found[: self._limit][::-1]

    def _read(self) -> list[Key]:
        store, wanted = self._node.profile.store, self._wanted
        try:
            reader = store.open_read_only(store.path, self._node.profile.codec)
            try:
                reader.abandon_when(lambda: self._stopped)
                if wanted.names_us is not None:
                    channel = ChannelConversation(self._node, reader, self._conversation.name)
                    return self._said_to_us(channel, wanted.names_us)
                until = None if wanted.before is None else wanted.before - 1
                found = [
                    message.key
                    for sender in wanted.senders or (None,)
                    for message in reader.messages(
                        self._conversation.name,
                        search=wanted.words,
                        sender_id=sender,
                        since=wanted.since,
                        until=until,
                        limit=self._limit,
                    )
                ]
            finally:
                reader.close()
        except StoreError:
            if self._stopped:
                return []
            raise
        return sorted(found)[-self._limit :]
