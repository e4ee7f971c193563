"""Whether two nicks look alike."""

# ruff: noqa: RUF001 - letters that look like others are what this is about

from __future__ import annotations

import unicodedata
from typing import Final

# Letters of other scripts, and digits, that are drawn like a small Latin letter: those that show up in practice,
# after the confusables of Unicode Technical Standard 39. Capitals have been folded to small letters before this.
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


def skeleton(nick: str) -> str:
    """A form in which nicks that look alike are the same. Only for comparing, never to be shown.

    Accents are dropped and spaces and case ignored, so it errs on the side of telling: "José" and "jose" are alike.
    """
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", nick).casefold())
    seen = "".join(letter for letter in folded if unicodedata.category(letter) not in _UNSEEN)
    return "".join(seen.translate(_DRAWN_LIKE).split()).replace("rn", "m").replace("vv", "w")
