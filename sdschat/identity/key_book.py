"""The public keys seen so far, and the key that used each nick first. Rows in, rows and facts out; no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from sdschat.identity.content import OpenedContent
from sdschat.identity.lookalikes import skeleton
from sdschat.identity.signing import sender_id_of

# Keys cost nothing to make, so both numbers are bounded. A key seen beyond the bound stays "new" with every message.
MAX_KEYS: Final = 4096
MAX_NICKS_OF_A_KEY: Final = 8


class KeyRow(NamedTuple):
    """A key that signed something, with its last nick. Its storage key is the public key."""

    public_key: bytes
    nick: str
    first_seen: int  # epoch milliseconds


class NickRow(NamedTuple):
    """A nick and the first key that used it: the nick belongs to that key. Its storage key is the skeleton."""

    skeleton: str
    nick: str
    public_key: bytes
    since: int  # epoch milliseconds


class KeyMet(NamedTuple):
    """A key was seen for the first time."""

    sender_id: str
    nick: str


class NickChanged(NamedTuple):
    sender_id: str
    before: str
    after: str


class NickClaimed(NamedTuple):
    """A key uses a nick, or a look-alike of a nick, that another key used before. Users must see this."""

    sender_id: str
    nick: str
    held_as: str  # the nick as the first holder wrote it
    held_by: str  # the first holder's sender id


KeyFact = KeyMet | NickChanged | NickClaimed


class Meeting(NamedTuple):
    """The result of learning from a signed content: rows to save and facts to report. Both are usually empty."""

    rows: tuple[KeyRow | NickRow, ...] = ()
    facts: tuple[KeyFact, ...] = ()


_NOTHING: Final = Meeting()


class KeyBook:
    """The keys and nicks known to this profile. `open_content` asks the book if a key is known."""

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
        """True if this sender id belongs to a known key: messages from this sender have been signed before."""
        return sender_id in self._senders

    def row(self, sender_id: str) -> KeyRow | None:
        key = self._senders.get(sender_id)
        return None if key is None else self._keys[key]

    def holder(self, nick: str) -> str | None:
        """Return the sender id of the first key that used this nick or a look-alike of it, or None."""
        held = self._nicks.get(skeleton(nick))
        return None if held is None else sender_id_of(held.public_key)

    def called(self, nick: str) -> list[str]:
        """List the sender ids of all keys that last went by this nick."""
        return [sender_id for sender_id, key in self._senders.items() if self._keys[key].nick == nick]

    def meet(self, opened: OpenedContent, now: int) -> Meeting:
        """Learn from an opened content, if it is proven: nobody can change the nick of another key."""
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
