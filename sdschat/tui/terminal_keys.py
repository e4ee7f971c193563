"""Bytes that terminals send for keys, where Textual understands them differently.

Alt is an escape before the key's own byte in most terminals: escape and carriage return is Alt+Enter, which Textual
takes for Enter, so that half a message would be sent. An escape and a digit it takes for what one terminal on macOS
means by them. In the form of xterm's `modifyOtherKeys` it drops Alt.

An escape that comes alone is the key Esc: when nothing follows within 100 ms (`ESCDELAY`, in milliseconds). Until then
a byte that follows belongs to it, so that Alt+Enter is understood also where a slow connection splits it. Whoever
presses Esc and Enter faster than that begins a new line, and sends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver

_ALT: Final = {f"\x1b{byte}": "alt+enter" for byte in "\r\n"} | {f"\x1b{digit}": f"alt+{digit}" for digit in range(10)}
_OTHER_KEYS: Final = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,6})~")  # xterm's modifyOtherKeys: modifier, code point
_ALT_BIT: Final = 2
_ENTER: Final = 13


class KeyParser(XTermParser):
    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence in _ALT:
            return [events.Key(_ALT[sequence], None)]
        return super()._sequence_to_key_events(_OTHER_KEYS.sub(_in_the_form_of_kitty, sequence), alt)


def _in_the_form_of_kitty(found: re.Match[str]) -> str:
    """Return the same key as the protocol of kitty writes it, if Alt or Enter is part of it; else leave it alone."""
    modifier, code = int(found[1]), int(found[2])
    if code == _ENTER or (modifier - 1) & _ALT_BIT:
        return f"\x1b[{ord(chr(code).lower())};{modifier}u"
    return found[0]


def install() -> None:
    """From now on terminals are read by this parser."""
    linux_driver.XTermParser = KeyParser  # type: ignore[attr-defined]
