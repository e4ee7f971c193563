"""Lookup of the participant meant by a name. A direct message goes to a key, so a name must lead to one, and to one
only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sdschat.node.channel.content import ContentGate
    from sdschat.node.channel.presence import ChannelPresence

_SHORTEST_ID = 6
_YOURSELF = "That is yourself. Choose somebody else to write to."


class DirectPeer(NamedTuple):
    sender_id: str
    key: bytes
    nick: str  # as they proved it; empty where they did not


class DirectPeers:
    """Those who are here with a signed presence, and those whose key we met before."""

    def __init__(self, presence: ChannelPresence, gate: ContentGate) -> None:
        self._presence = presence
        self._gate = gate

    def key_of(self, sender_id: str) -> bytes | None:
        found = self._presence.keys.get(sender_id)
        if found is not None:
            return found
        row = self._gate.book.row(sender_id)
        return None if row is None else row.public_key

    def find(self, name: str) -> DirectPeer:
        """By nick, or by id or the beginning of one. Raises ValueError, in words for a person."""
        # An id comes first: anybody may take another's id for a nick.
        found = [name] if self._is_id(name) else self._by_nick(name) or self._by_id(name)
        if len(found) > 1:
            raise ValueError(
                f"More than one participant is called {name}: {self._listed(name, found)}. Give the id instead."
            )
        if not found and name == self._gate.nick:
            raise ValueError(_YOURSELF)
        if not found:
            here = sorted({nick for nick in self._presence.online.values() if nick})
            who = f"Here are: {', '.join(here)}." if here else "Nobody else is here."
            raise ValueError(f"Nobody called {name} is known on this channel. {who}")
        sender_id = found[0]
        if sender_id == self._gate.identity.sender_id:
            raise ValueError(_YOURSELF)
        key = self.key_of(sender_id)
        if key is None:
            raise ValueError(f"{name} signs nothing, so nothing can be sealed for {name} alone. Write to the channel.")
        return DirectPeer(sender_id, key, self._presence.online.get(sender_id) or self._gate.nick_of(sender_id))

    def here(self, sender_id: str) -> bool:
        """True if this participant is online."""
        return sender_id in self._presence.online

    def _by_nick(self, name: str) -> list[str]:
        here = [sender_id for sender_id, nick in self._presence.online.items() if nick == name]
        # Who had a name first may be away. Another one of that name is not written to by mistake.
        return sorted({*here, *self._gate.book.called(name)})

    def _is_id(self, name: str) -> bool:
        return name == self._gate.identity.sender_id or self.key_of(name) is not None

    def _by_id(self, name: str) -> list[str]:
        if len(name) < _SHORTEST_ID:
            return []
        return sorted(sender_id for sender_id in self._presence.online if sender_id.startswith(name))

    def _listed(self, name: str, ids: list[str]) -> str:
        """Each with what tells them apart; a key that was never met stands beside one that was."""
        book = self._gate.book
        known = {sender_id: "known" for sender_id in ids if book.row(sender_id) is not None}
        if (first := book.holder(name)) in known:
            known[first] = "known first"
        return ", ".join(f"{sender_id} ({self._standing(sender_id, known)})" for sender_id in ids)

    def _standing(self, sender_id: str, known: Mapping[str, str]) -> str:
        where = "here" if self.here(sender_id) else "not here"
        if sender_id in known:
            return f"{known[sender_id]}, {where}"
        return f"{where}, with a new key: the key changed, or somebody else took the nick" if known else where
