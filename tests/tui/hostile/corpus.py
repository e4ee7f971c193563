# ruff: noqa: RUF001 - signs that look like others are what this is about
"""Texts made to harm a program that shows them. Families by name; all texts are different."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

ESC: Final = "\x1b"


def _controls() -> Iterator[str]:
    for code in (*range(0x20), *range(0x7F, 0xA0)):
        yield f"before{chr(code)}after"


def _sequences() -> Iterator[str]:
    """Control sequences, as ESC [ and as the single C1 character, with their effect in a terminal."""
    bodies = (
        "2J", "H", "1;1H", "10A", "10B", "10C", "10D", "K", "2K", "s", "u", "?25l", "?1049h", "?1049l", "?2004l",
        "?1000h", "?1003h", "?7l", "31m", "0m", "7m", "38;2;1;2;3m", "5n", "6n", "c", ">c", "!p", "4h", "20h", "1;5r",
        "8;1;1t", "21t", "11t", "3J", "L", "M", "P", "@", "X", "b", "g", "?6h", "=0u", ">1u", "?2026h", "?9001h",
    )  # fmt: skip
    for body in bodies:
        yield f"{ESC}[{body}csi"
        yield f"\x9b{body}c1"


def _strings() -> Iterator[str]:
    """OSC, DCS, SOS, PM and APC, ended in every way, and not at all: titles, clipboards, links, graphics."""
    bodies = (
        "0;title", "2;title", "52;c;aGFja2Vk", "52;c;?", "8;;http://evil.example", "9;notify", "777;notify;a;b",
        "4;1;?", "10;?", "11;?", "104", "1337;File=:AAAA", "133;A", "7;file:///", "22;pointer",
    )  # fmt: skip
    for body in bodies:
        for start in (f"{ESC}]", "\x9d"):
            for end in ("\x07", f"{ESC}\\", "\x9c", ""):
                yield f"{start}{body}{end}osc"
    for start in ("P", "X", "^", "_"):
        for body in ("q#0;2;0;0;0", "$qm", "+q544e", "Ga=T,f=100;AAAA", "1;2|data"):
            yield f"{ESC}{start}{body}{ESC}\\string"
            yield f"{chr(ord(start) + 0x40)}{body}\x9cstring"


def _short_escapes() -> Iterator[str]:
    for char in "78=>ABCDEFHMNOZclmno|}~#()*+-./ %":
        yield f"{ESC}{char}escape"
    yield ESC
    yield f"at the end {ESC}"
    yield f"{ESC}{ESC}{ESC}[A"


def _directions() -> Iterator[str]:
    for code in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)):
        yield f"user {chr(code)}txt.exe"
        yield chr(code) * 50 + f"flood {code:x}"
    yield "\u202eab\u202dcd\u202cef\u2066gh\u2069ij"


def _unseen() -> Iterator[str]:
    codes = (
        0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x180E, 0x200B, 0x200C, 0x200D, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064,
        0x206A, 0x206F, 0x2800, 0x3164, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFA, 0xFFFB, 0xFFFC, 0x1D173, 0xE0001, 0xE0041,
        0xE007F,
    )  # fmt: skip
    for code in codes:
        yield f"ad{chr(code)}min {code:x}"
        yield chr(code) * 200 + f"{code:x}"
    yield "".join(chr(0xE0000 + ord(letter)) for letter in "hidden words") + "visible"


def _marks() -> Iterator[str]:
    for code in (
        0x0300,
        0x0323,
        0x0336,
        0x0489,
        0x05B0,
        0x0610,
        0x0E31,
        0x0E48,
        0x1AB0,
        0x1DC0,
        0x20D0,
        0x20DD,
        0x3099,
    ):
        yield f"a{chr(code) * 120} {code:x}"
        yield f"{chr(code)}leading {code:x}"
        yield "".join(f"{letter}{chr(code) * 9}" for letter in f"zalgo {code:x}")
    yield "\ufe0f" * 300 + "selectors"
    yield "\u2764\ufe0f" * 60 + "hearts"
    yield "\u05e9\u2069\u2068\u2067\u202e\u05e9 isolates"
    yield "\u0627\u0644" * 80 + " 1/3 2069"
    yield "".join(f"x{chr(code)}" for code in range(0xFE00, 0xFE10))
    yield "x" + "".join(chr(code) for code in range(0xE0100, 0xE01F0))


def _breaks() -> Iterator[str]:
    for char in ("\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"):
        yield f"one{char}two {ord(char[0]):x}{len(char)}"
        yield f"flood{char * 500}end {ord(char[0]):x}{len(char)}"
    yield "over\rwrite"
    yield "back\b\b\b\bspace"
    yield "\t" * 100 + "tabs"


def _markup() -> Iterator[str]:
    """Texts that a careless interface would read as markup."""
    for body in (
        "[/]", "[/b]", "[b", "[bold red]loud[/]", "[@click=app.quit]quit[/]", "[@click='app.bell']bell[/]",
        "[link=http://evil.example]here[/link]", "[on red]", "[[", "]]", "\\[", "[$primary]", "[#ff0000]", "[reverse]",
        "[not markup]", "[=1]", "[/nothing]", "[@click=screen.quit_app()]", "{markup}", "{0}", "{self}", "%s%n", "${x}",
        "<b>", "<script>alert(1)</script>", "&lt;", ":smile:", "`tick`", "$(reboot)", "; rm -rf ~", "|cat", "../../etc",
    ):  # fmt: skip
        yield body
        yield f"text {body} and {body}"


def _system_lines() -> Iterator[str]:
    """Texts that look like lines of the program."""
    for gutter in ("»", "#", "!", "‼", "›", ">", "⇣", "<", "∅", "0", "*", "-", "--", "▪"):
        yield f"{gutter} bob is verified"
        yield f"\n{gutter} bob is verified"
        yield f"hi\n{gutter} 12:00:00 the channel is encrypted"
    yield "-- Thu 20 Nov 2025 ------------------------------"
    yield "! OFFLINE enter your password | /reconnect"
    yield "✓ acked 99"


def _long() -> Iterator[str]:
    yield "w" * 20_000
    yield "漢" * 5_000
    yield "👩\u200d👩\u200d👧" * 500
    yield "https://evil.example/" + "a" * 5_000
    yield "a " * 5_000
    yield "\u0e33" * 2_000
    yield "🏴" + "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f" * 100
    yield "🇦" * 1001
    yield "\U0001f3fd" * 300


def _not_characters() -> Iterator[str]:
    for code in (0xFDD0, 0xFDEF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF, 0xE000, 0xF8FF, 0xF0000, 0x10FFFD, 0x0378, 0x2FE0):
        yield f"no {chr(code)} character {code:x}"


def _links() -> Iterator[str]:
    yield f"http://evil.example/{ESC}[31mred"
    yield f"http://evil.example/{ESC}\\{ESC}]52;c;AAAA\x07"
    yield "http://evil.example/\u202egpj.exe"
    yield "javascript:alert(1)"
    yield "file:///etc/passwd"
    yield "http://[::1]:80/[bold]"


FAMILIES: Final = {
    "controls": _controls, "sequences": _sequences, "strings": _strings, "short escapes": _short_escapes,
    "directions": _directions, "unseen": _unseen, "marks": _marks, "breaks": _breaks, "markup": _markup,
    "system lines": _system_lines, "long": _long, "no characters": _not_characters, "links": _links,
}  # fmt: skip
CORPUS: Final[tuple[str, ...]] = tuple(dict.fromkeys(text for family in FAMILIES.values() for text in family()))
# One of each kind, for where a look takes its time.
SAMPLE: Final[tuple[str, ...]] = tuple(text for family in FAMILIES.values() for text in list(family())[::7])
FEW: Final[tuple[str, ...]] = tuple(
    text for family in FAMILIES.values() for text in (list(family())[len(list(family())) // 2], list(family())[-1])
)
