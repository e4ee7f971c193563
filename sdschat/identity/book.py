"""The keys met so far, and who was first with which nick. Rows in, rows and facts out; no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sdschat.identity.content import OpenedContent
from sdschat.identity.names import skeleton
from sdschat.identity.signing import sender_id_of

# Keys are free to make, so both are bounded. Who is met beyond the bound stays "new" with every message.
MAX_KEYS: Final = 4096
MAX_NICKS_OF_A_KEY: Final = 8


class KeyRow(NamedTuple):
    """A key that signed something, with the nick it last went by. Its place in storage: the public key."""

    public_key: bytes
    nick: str
    first_seen: int  # epoch milliseconds


class NickRow(NamedTuple):
    """A nick belongs to the key that used it first. Its place in storage: the skeleton."""

    skeleton: str
    nick: str
    public_key: bytes
    since: int  # epoch milliseconds


class KeyMet(NamedTuple):
    """Somebody new."""

    sender_id: str
    nick: str


class NickChanged(NamedTuple):
    sender_id: str
    before: str
    after: str


class NickClaimed(NamedTuple):
    """A key goes by a nick, or one that looks like it, that was another's before: to be said aloud."""

    sender_id: str
    nick: str
    held_as: str  # the nick as the first holder wrote it
    held_by: str  # the first holder's sender id


KeyFact = KeyMet | NickChanged | NickClaimed


class Meeting(NamedTuple):
    """What a signed content taught us: rows to save, facts to tell. Both empty for nearly every message."""

    rows: tuple[KeyRow | NickRow, ...] = ()
    facts: tuple[KeyFact, ...] = ()


_NOTHING: Final = Meeting()


class KeyBook:
    """Who is who, on this profile. Also what `open_content` asks whether a key is known."""

    __slots__ = ("_keys", "_nicks", "_nicks_of", "_senders")

    def __init__(self, rows: Iterable[KeyRow | NickRow] = ()) -> None:
        self._keys: dict[bytes, KeyRow] = {}
        self._nicks: dict[str, NickRow] = {}
        self._senders: dict[str, bytes] = {}
        self._nicks_of: dict[bytes, int] = {}
        for row in rows:
            self._take(row)

    def knows(self, public_key: bytes) -> bool:
        return public_key in self._keys

    def signs(self, sender_id: str) -> bool:
        """Whether this sender id is that of a key which signs its messages."""
        return sender_id in self._senders

    def row(self, sender_id: str) -> KeyRow | None:
        key = self._senders.get(sender_id)
        return None if key is None else self._keys[key]

    def holder(self, nick: str) -> str | None:
        """The sender id of the first who went by this nick, or one that looks like it."""
        held = self._nicks.get(skeleton(nick))
        return None if held is None else sender_id_of(held.public_key)

    def meet(self, opened: OpenedContent, now: int) -> Meeting:
        """Learn from an opened content. Only what is proven teaches anything: others' words change no name."""
        if not opened.verdict.signed:
            return _NOTHING
        key = opened.author_key
        before = self._keys.get(key)
        if before is not None and before.nick == opened.nick:
            return _NOTHING
        if before is None and len(self._keys) >= MAX_KEYS:
            return _NOTHING
        sender_id = sender_id_of(key)
        facts: list[KeyFact] = [
            KeyMet(sender_id, opened.nick) if before is None else NickChanged(sender_id, before.nick, opened.nick)
        ]
        rows: list[KeyRow | NickRow] = [KeyRow(key, opened.nick, now if before is None else before.first_seen)]
        form = skeleton(opened.nick)
        held = self._nicks.get(form)
        if held is not None and held.public_key != key:
            facts.append(NickClaimed(sender_id, opened.nick, held.nick, sender_id_of(held.public_key)))
        elif held is None and form and self._nicks_of.get(key, 0) < MAX_NICKS_OF_A_KEY:
            rows.append(NickRow(form, opened.nick, key, now))
        for row in rows:
            self._take(row)
        return Meeting(tuple(rows), tuple(facts))

    def _take(self, row: KeyRow | NickRow) -> None:
        if isinstance(row, KeyRow):
            self._keys[row.public_key] = row
            self._senders[sender_id_of(row.public_key)] = row.public_key
        else:
            self._nicks[row.skeleton] = row
            self._nicks_of[row.public_key] = self._nicks_of.get(row.public_key, 0) + 1
