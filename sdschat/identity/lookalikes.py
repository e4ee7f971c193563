"""Detection of nicks that look alike."""

# ruff: noqa: RUF001 - this file is about letters that look like others

from __future__ import annotations

import unicodedata
from collections.abc import Set
from functools import lru_cache
from typing import Final

# Letters of other scripts, and digits, that look like a small Latin letter: the cases that occur in practice, from the
# confusables of Unicode Technical Standard 39. Capitals are folded to small letters before this table is used.
_LOOK_ALIKES: Final = {
    "a": "аα",
    "b": "ьв",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еєҽ",
    "g": "ɡց",
    "h": "һհн",
    "i": "іιıɩ",
    "j": "јϳ",
    "k": "кκ",
    "l": "1|ӏǀ",
    "m": "м",
    "n": "ոη",
    "o": "оοօ0ø",
    "p": "рρ",
    "q": "ԛզ",
    "r": "гᴦ",
    "s": "ѕ",
    "t": "тτ",
    "u": "υս",
    "v": "νѵ",
    "w": "ԝωա",
    "x": "хχ",
    "y": "уγү",
}
_DRAWN_LIKE: Final = {ord(other): latin for latin, others in _LOOK_ALIKES.items() for other in others}
# Categories that are not drawn: control, format (zero width, direction), unassigned, and marks on a letter.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Mn", "Me"})


@lru_cache(maxsize=4096)
def skeleton(nick: str) -> str:
    """Return a form that is equal for nicks that look alike. Only for comparison: never show it.

    Accents, spaces and case are ignored, so it may report too many look-alikes: "José" and "jose" are alike.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", nick).casefold())
    seen = "".join(letter for letter in folded if unicodedata.category(letter) not in _UNSEEN)
    return "".join(seen.translate(_DRAWN_LIKE).split()).replace("rn", "m").replace("vv", "w")


class PresentNicks:
    """The first key that goes by each nick, of those whose signed presence was heard. Of a key its last nick counts."""

    __slots__ = ("_first", "_form_of", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: dict[str, tuple[str, bytes]] = {}
        self._form_of: dict[bytes, str] = {}  # who was heard last stands last

    def note(self, nick: str, key: bytes) -> None:
        form = skeleton(nick)
        if self._form_of.get(key) != form:
            self._forget(key)
        self._form_of.pop(key, None)
        self._form_of[key] = form
        if form:
            self._first.setdefault(form, (nick, key))
        if len(self._form_of) > self._most:
            self._forget(next(iter(self._form_of)))

    def first(self, form: str) -> tuple[str, bytes] | None:
        """Return the nick and the key that went by a nick of this skeleton first."""
        return self._first.get(form)

    def _forget(self, key: bytes) -> None:
        form = self._form_of.pop(key, "")
        if self._first.get(form, ("", b""))[1] == key:
            del self._first[form]


class NickUsers:
    """The keys that go by a nick, or went by it lately, by its skeleton. A key has at most so many nicks."""

    __slots__ = ("_forms_of", "_most", "_users")

    def __init__(self, most: int) -> None:
        self._most = most
        self._users: dict[str, set[bytes]] = {}
        self._forms_of: dict[bytes, dict[str, None]] = {}  # the same by key; the newest stands last

    def of(self, form: str) -> Set[bytes]:
        return self._users.get(form, frozenset())

    def use(self, form: str, key: bytes) -> None:
        """Note that a key goes by a nick of this skeleton from now on."""
        forms = self._forms_of.setdefault(key, {})
        forms.pop(form, None)
        forms[form] = None
        self._users.setdefault(form, set()).add(key)
        if len(forms) > self._most:
            oldest = next(iter(forms))
            del forms[oldest]
            self._leave(oldest, key)

    def forget(self, key: bytes) -> None:
        for form in self._forms_of.pop(key, {}):
            self._leave(form, key)

    def _leave(self, form: str, key: bytes) -> None:
        users = self._users[form]
        users.discard(key)
        if not users:
            del self._users[form]
