"""Lookup of the participant meant by a name. A direct message goes to a key, so a name must lead to one, and to one
only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from sdschat.identity.key_book import KeyStanding
from sdschat.identity.signing import by_name, goes_by, ids_called

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.presence import ChannelPresence

_YOURSELF = "That is yourself. Choose somebody else."


class DirectPeer(NamedTuple):
    sender_id: str
    key: bytes
    nick: str  # as they proved it; empty where they did not


class DirectPeers:
    """Those who are here with a signed presence, or were in this run, and those whose key we met before."""

    def __init__(self, presence: ChannelPresence, gate: ContentGate, elsewhere: Iterable[ChannelPresence] = ()) -> None:
        """`elsewhere`: of other channels in which people are looked for as well."""
        self._everywhere = (presence, *elsewhere)
        self._gate = gate

    def key_of(self, sender_id: str) -> bytes | None:
        for presence in self._everywhere:
            if (found := presence.keys.get(sender_id) or presence.keys_left.get(sender_id)) is not None:
                return found
        row = self._gate.book.row(sender_id)
        return None if row is None else row.public_key

    def find(self, name: str) -> DirectPeer:
        """Find a person by nick, by id or the beginning of one, or by both. Raises ValueError, in words."""
        own_id = self._gate.identity.sender_id
        # An id comes first: anybody may take another's id for a nick.
        found = [name] if self._is_id(name) else ids_called(name, self._known()) or ids_called(name, self._left())
        if len(found) > 1:
            raise ValueError(
                f"More than one participant is called {name}: {self._listed(name, found)}. Give the id instead."
            )
        if not found and goes_by(own_id, self._gate.nick, name):
            raise ValueError(_YOURSELF)
        if not found:
            here = sorted({nick for each in self._everywhere for nick in each.online.values() if nick}, key=by_name)
            who = f"Here are: {', '.join(here)}." if here else "Nobody else is here."
            where = "on this channel" if len(self._everywhere) == 1 else "in the channels that are open"
            raise ValueError(f"Nobody called {name} is known {where}. {who}")
        sender_id = found[0]
        if sender_id == own_id:
            raise ValueError(_YOURSELF)
        key = self.key_of(sender_id)
        if key is None:
            raise ValueError(f"{name} signs nothing, so nothing can be sealed for {name} alone. Write to the channel.")
        nicks = (each.nick_of(sender_id) for each in self._everywhere)
        return DirectPeer(sender_id, key, next(filter(None, nicks), "") or self._gate.nick_of(sender_id))

    def here(self, sender_id: str) -> bool:
        """True if this participant is online."""
        return any(sender_id in each.online for each in self._everywhere)

    def split(self, text: str) -> tuple[str, str]:
        """Split a text into the name in front and the rest. A nick may have spaces, so the longest one that fits is
        taken, with the beginning of an id behind it if somebody of that nick has it; else the first word."""
        known = [*self._known(), *self._left()]
        nicks = [nick for _, nick in known if nick]
        bare = text.removeprefix("@")  # it is part of the name only where nobody has it without
        text = next((one for one in (bare, text) if any(f"{one} ".startswith(f"{nick} ") for nick in nicks)), bare)
        fitting = [nick for nick in nicks if f"{text} ".startswith(f"{nick} ")]
        name = max(fitting, key=len, default=text.partition(" ")[0])
        tagged = " ".join((name, text[len(name) :].strip().partition(" ")[0]))
        if text.startswith(tagged) and ids_called(tagged, known):
            name = tagged
        return name, text[len(name) :].strip()

    def _known(self) -> Iterator[tuple[str, str]]:
        """Yield the others with their nicks. Who had a name first may be away: another one of that name is not written
        to by mistake."""
        here = (pair for each in self._everywhere for pair in each.online.items())
        for sender_id, nick in (*here, *self._gate.book.nicks()):
            if sender_id != self._gate.identity.sender_id:
                yield sender_id, nick

    def _left(self) -> Iterator[tuple[str, str]]:
        """Yield those who left with their nicks. They come after all others: anybody can take a nick and leave."""
        return (pair for each in self._everywhere for pair in each.left.items())

    def _is_id(self, name: str) -> bool:
        return name == self._gate.identity.sender_id or self.key_of(name) is not None

    def _listed(self, name: str, ids: list[str]) -> str:
        """List ids, each with what tells them apart; a key that was never met stands beside one that was."""
        book = self._gate.book
        known = {sender_id: "known" for sender_id in ids if book.row(sender_id) is not None}
        if (first := book.holder(name)) in known:
            known[first] = "known first"
        known |= dict.fromkeys((one for one in known if book.is_any(one, KeyStanding.VERIFIED)), "verified")
        return ", ".join(f"{sender_id} ({self._standing(sender_id, known)})" for sender_id in ids)

    def _standing(self, sender_id: str, known: Mapping[str, str]) -> str:
        where = "here" if self.here(sender_id) else "not here"
        if sender_id in known:
            return f"{known[sender_id]}, {where}"
        return f"{where}, with a new key: the key changed, or somebody else took the nick" if known else where
