"""Who is meant by a name. A direct message goes to a key, so a name must lead to one, and to one only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sdschat.node.reading import Desk
    from sdschat.node.room import Room

_SHORTEST_ID = 6
_YOURSELF = "That is yourself. Choose somebody else to write to."


class Person(NamedTuple):
    sender_id: str
    key: bytes
    nick: str  # as they proved it; empty where they did not


class People:
    """Those who are here with a signed presence, and those whose key we met before."""

    def __init__(self, room: Room, desk: Desk) -> None:
        self._presence = room.presence
        self._desk = desk

    def key_of(self, sender_id: str) -> bytes | None:
        found = self._presence.keys.get(sender_id)
        if found is not None:
            return found
        row = self._desk.book.row(sender_id)
        return None if row is None else row.public_key

    def find(self, name: str) -> Person:
        """By nick, or by id or the beginning of one. Raises ValueError, in words for a person."""
        found = self._by_nick(name) or self._by_id(name)
        if len(found) > 1:
            raise ValueError(f"More than one participant is called {name}: {_listed(found)}. Give the id instead.")
        if not found and name == self._desk.nick:
            raise ValueError(_YOURSELF)
        if not found:
            here = sorted({nick for nick in self._presence.online.values() if nick})
            who = f"Here are: {', '.join(here)}." if here else "Nobody else is here."
            raise ValueError(f"Nobody called {name} is known on this channel. {who}")
        sender_id = found[0]
        if sender_id == self._desk.identity.sender_id:
            raise ValueError(_YOURSELF)
        key = self.key_of(sender_id)
        if key is None:
            raise ValueError(f"{name} signs nothing, so nothing can be sealed for {name} alone. Write to the channel.")
        return Person(sender_id, key, self._presence.online.get(sender_id) or self._desk.nick_of(sender_id))

    def _by_nick(self, name: str) -> list[str]:
        here = sorted(sender_id for sender_id, nick in self._presence.online.items() if nick == name)
        holder = self._desk.book.holder(name)
        if holder is None or self._desk.nick_of(holder) != name:
            return here
        # Who had a name first may be away. Another one of that name is not written to by mistake.
        return sorted({*here, holder})

    def _by_id(self, name: str) -> list[str]:
        if name == self._desk.identity.sender_id or self.key_of(name) is not None:
            return [name]
        if len(name) < _SHORTEST_ID:
            return []
        return sorted(sender_id for sender_id in self._presence.online if sender_id.startswith(name))


def _listed(ids: list[str]) -> str:
    return ", ".join(sender_id[:12] for sender_id in ids)
