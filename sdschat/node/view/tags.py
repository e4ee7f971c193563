"""The beginning of a sender id, beside a nick that two keys go by: nothing but its id tells one from the other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from sdschat.identity.lookalikes import skeleton
from sdschat.identity.signing import beginning_of, ids_called
from sdschat.node.view.values import Participant

if TYPE_CHECKING:
    from sdschat.node.node import Node

_LOOKS_TAGGED: Final = re.compile(r"\s[0-9a-f]{4,}$")  # a nick that would be taken for one with a tag
_DIGITS: Final = 4  # shown at first; as many more where two ids begin with the same ones


def tag_of(node: Node, sender_id: str, nick: str) -> str:
    """Return the beginning of a sender id, where another key goes or went by this nick or by one that looks like it;
    else an empty text."""
    if not nick:
        return ""
    others = _others(node, sender_id, nick)
    for session in node.sessions.values():
        others |= session.presence.called(nick) - {sender_id}
    return tag_among(sender_id, nick, others)


def tagged(node: Node, people: Sequence[Participant]) -> list[Participant]:
    """Return participants of a channel with their tags: the same as those of `tag_of`, at once for many people."""
    users = defaultdict[str, list[str]](list)
    for person in people:
        users[skeleton(person.nick)].append(person.sender_id)
    found = []
    for person in people:
        if person.nick:
            others = _others(node, person.sender_id, person.nick)
            others.update(one for one in users[skeleton(person.nick)] if one != person.sender_id)
            person = person._replace(tag=tag_among(person.sender_id, person.nick, others))
        found.append(person)
    return found


def are_alike(nick: str, other: str) -> bool:
    """True for two nicks that are the same, or look like each other."""
    return bool(nick) and skeleton(nick) == skeleton(other)


def called(people: Sequence[Participant], name: str) -> list[Participant]:
    """Return those whom a name may mean: a nick, the beginning of an id, or both."""
    ids = set(ids_called(name, ((person.sender_id, person.nick) for person in people)))
    return [person for person in people if person.sender_id in ids]


def is_namesake(node: Node, sender_id: str, nick: str) -> bool:
    """True for another participant who goes by our nick, or by one that looks like it."""
    return sender_id != node.sender_id and are_alike(nick, node.nick)


def _others(node: Node, sender_id: str, nick: str) -> set[str]:
    own = {node.sender_id} if is_namesake(node, sender_id, nick) else set()
    return own | node.gate.book.others_called(nick, sender_id)


def tag_among(sender_id: str, nick: str, others: Collection[str]) -> str:
    """Return the tag of somebody whose nick these others have, too; an empty text where there are none."""
    return beginning_of(sender_id, others, _DIGITS) if others or _LOOKS_TAGGED.search(nick) else ""
