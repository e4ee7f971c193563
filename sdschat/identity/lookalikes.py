"""Detection of nicks that look alike."""

# ruff: noqa: RUF001 - this file is about letters that look like others

from __future__ import annotations

import re
import unicodedata
from collections.abc import Set
from functools import lru_cache
from typing import Final

# Letters of other scripts, and digits, that look like a small or a capital Latin letter: most of the confusables of
# Unicode Technical Standard 39, and the small capitals. I, l and 1 are one, since fonts draw them alike.
_LOOK_ALIKES: Final = {
    "a": "ɑΑαАаᎪᗅᴀ⍺ꓮ𐊠𖽀Ⲁⲁ",
    "b": "ƀƄʙΒВЬвьᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁Ⲃⲃ",
    "c": "ϲϹСсᏟᴄⲤⲥꓚꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
    "d": "đɗԁᎠᏧᑯᗞᗪᴅꓒꓓ",
    "e": "ΕЕеєҽᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮Ⲉⲉ",
    "f": "ϜքᖴẝꓝꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓",
    "g": "ƍɡɢԌցᏀᏳᶃꓖ",
    "h": "ħʜΗНнһհᎻᏂᕼⲎꓧ𐋏ⲏ",
    "j": "ͿϳЈјᎫᒍᴊꓙꞲ",
    "k": "ĸΚκКкᏦᛕᴋⲔꓗ𐔘ⲕ",
    "l": "1i|ıłƖǀɩɪʟΙιІіӀӏ۱ᎥᏞᒪᛁ∣⍳⏽│ⲒⳐⵏꓡꓲꙇꭵ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𑣃𖼖𖼨𝈪ⲓ",
    "m": "ΜϺМмᎷᗰᛖᴍⲘꓟ𐊰𐌑ⲙ",
    "n": "ɴΝηոռⲚꓠ𐔓ⲛ",
    "o": "0øΟοσОоՕօסه۵०০੦૦ଠ୦௦ం౦ಂ೦ംഠ൦ං๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠",
    "p": "ΡρРрᏢᑭᴘ⍴Ⲣⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ƦʀгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖",
    "s": "ƽЅѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺",
    "t": "ŧΤτТтᎢᴛ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨ⲧ",
    "u": "ʋυՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂",
    "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
    "w": "ɯѡԜԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯",
    "x": "×ΧХхᕁᕽ᙭᙮ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬ⲭ",
    "y": "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃ⲩ",
    "z": "ΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥",
}
# An A in a circle and in a square, and that of flags; all letters follow.
_ENCLOSED: Final = (0x1F150, 0x1F170, 0x1F1E6)
_DRAWN_LIKE: Final = {ord(other): latin for latin, others in _LOOK_ALIKES.items() for other in others} | {
    first + at: chr(ord("a") + at) for first in _ENCLOSED for at in range(26)
}
# Categories that are not drawn: control, format (zero width, direction), unassigned, and marks on a letter.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Mn", "Me"})
_BLANK: Final = frozenset("\u115f\u1160\u2800\uffa0\ufffc\U0001d159")  # of other categories, and drawn as nothing
# Categories of what may stand around a name: punctuation, and signs like a letter's mark; and signs of states.
_AROUND: Final = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sk", "Sm", "Lm"})
_STATES: Final = frozenset("●◐◌○▫✓✔")
_IN_BRACKETS: Final = re.compile(r"[(\[{<«‹⟨【〔「].*[)\]}>»›⟩】〕」]")  # as the program may say of somebody: "(you)"
_GREEK: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff]+")


@lru_cache(maxsize=4096)
def skeleton(nick: str) -> str:
    """Return a form that is equal for nicks that look alike. Only for comparison: never show it.

    Accents, spaces and case are ignored, signs at both ends and what stands in brackets, so it may report too many
    look-alikes: "José" and "jose" are alike, and "ann", "ann_" and "ann (verified)".
    """
    letters = unicodedata.normalize("NFD", nick)
    if letters.isupper() or not _GREEK.fullmatch("".join(filter(str.isalpha, letters))):
        letters = letters.translate(_DRAWN_LIKE)  # capitals as they are drawn; in Greek words as their small letters
        letters = unicodedata.normalize("NFKD", letters).translate(_DRAWN_LIKE)
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", letters).casefold())
    seen = "".join(each for each in folded if unicodedata.category(each) not in _UNSEEN and each not in _BLANK)
    drawn = "".join(seen.translate(_DRAWN_LIKE).split()).replace("rn", "m").replace("vv", "w")
    drawn = _IN_BRACKETS.sub("", drawn) or drawn
    return _bare(drawn) or drawn


def _bare(name: str) -> str:
    """Return the name without the signs at both ends."""
    inside = [at for at, each in enumerate(name) if unicodedata.category(each) not in _AROUND and each not in _STATES]
    return name[inside[0] : inside[-1] + 1] if inside else ""


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

    __slots__ = ("_forms_of", "_most", "_newest", "_users")

    def __init__(self, most: int) -> None:
        self._most = most
        self._users: dict[str, set[bytes]] = {}
        self._forms_of: dict[bytes, dict[str, None]] = {}  # the same by key; the newest stands last
        self._newest: dict[bytes, int] = {}  # dates of the newest messages, in this run

    def of(self, form: str) -> Set[bytes]:
        return self._users.get(form, frozenset())

    def use(self, form: str, key: bytes) -> bool:
        """Note that a key goes by a nick of this skeleton from now on, or went by it. Return True if that is new."""
        forms = self._forms_of.setdefault(key, {})
        known = form in forms
        forms.pop(form, None)
        forms[form] = None
        self._users.setdefault(form, set()).add(key)
        if len(forms) > self._most:
            oldest = next(iter(forms))
            del forms[oldest]
            self._leave(oldest, key)
        return not known

    def note_date(self, key: bytes, dated: int, since: int) -> bool:
        """Note the date of a message of a key. Return True if a newer one was noted; of a key without any in this run,
        if it was here `since` then."""
        newest = self._newest.get(key, since)
        self._newest[key] = max(newest, dated)
        return dated < newest

    def forget(self, key: bytes) -> None:
        self._newest.pop(key, None)
        for form in self._forms_of.pop(key, {}):
            self._leave(form, key)

    def _leave(self, form: str, key: bytes) -> None:
        users = self._users[form]
        users.discard(key)
        if not users:
            del self._users[form]
