"""Verified people for an interface: the words to compare, and the mark of those who were compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdschat.identity.key_book import KeyStanding
from sdschat.identity.safety_words import safety_words
from sdschat.identity.signing import goes_by, ids_called

if TYPE_CHECKING:
    from sdschat.node.node import Node

__all__ = ["is_verified", "person_called", "set_verified", "verified_people", "words_with"]


def person_called(node: Node, name: str) -> tuple[str, str]:
    """Return the sender id and the nick of the one person with this nick, or whose id begins so: of those who signed
    something here, or a presence. Raises ValueError for nobody or several."""
    others = _present(node) | dict(node.gate.book.nicks())
    others.pop(node.sender_id, None)
    found = ids_called(name, others.items())
    if not found and goes_by(node.sender_id, node.nick, name):
        return node.sender_id, node.nick
    if len(found) == 1:
        return found[0], others[found[0]]
    if found:
        raise ValueError(f"{len(found)} keys go by {name}: {', '.join(found)}. Give the id.")
    raise ValueError(f"Nobody who signed anything here goes by {name}.")


def _present(node: Node) -> dict[str, str]:
    """Return those who are here with a signed presence, and their nicks."""
    presences = [session.presence for session in node.sessions.values()]
    return {one: presence.online.get(one, "") for presence in presences for one in presence.keys}


def words_with(node: Node, sender_id: str) -> tuple[str, ...]:
    """Return the six words of our key and that of a participant. Raises ValueError for one without a known key."""
    row = node.gate.book.row(sender_id)
    keys = (session.presence.keys.get(sender_id) for session in node.sessions.values())
    key = next(filter(None, keys), None) if row is None else row.public_key
    if key is None:
        raise ValueError("Nothing that they signed is here yet, so their key is not known.")
    return safety_words(node.gate.identity.public_key, key)


def is_verified(node: Node, sender_id: str) -> bool:
    """True if the user has compared words with this participant."""
    return bool(node.gate.book.standing(sender_id) & KeyStanding.VERIFIED)


def set_verified(node: Node, sender_id: str, verified: bool) -> None:
    """Remember, or forget, that the words were the same. Raises StoreError if it cannot be saved."""
    book = node.gate.book
    before = book.standing(sender_id) or KeyStanding.PERSON
    standing = before | KeyStanding.VERIFIED if verified else before & ~KeyStanding.VERIFIED
    node.save_standings({sender_id: standing})


def verified_people(node: Node) -> list[tuple[str, str]]:
    """Return sender id and nick of everybody who is verified."""
    rows, present = node.profile.store.standings(), _present(node)
    return [
        (row[0], node.gate.nick_of(row[0]) or present.get(row[0], "")) for row in rows if row[1] & KeyStanding.VERIFIED
    ]
