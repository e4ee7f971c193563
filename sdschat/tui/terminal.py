"""The terminal: the keys that it sends, its end, and the end of an application by an error.

Such an error is kept until the terminal is restored, and is never shown on the screen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import signal
import threading
import time
from collections.abc import Iterable
from typing import IO, Any, Final

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.driver import Driver
from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from sdschat.tui.model.line_input import NOT_TYPED
from sdschat.tui.model.words import ISOLATES, in_their_cells
from sdschat.tui.themes import Colour

# Bytes that terminals send for keys, where Textual understands them differently.
# Alt is an escape before the key's own byte in most terminals: escape and carriage return is Alt+Enter, which Textual
# takes for Enter, so that half a message would be sent. An escape and a digit it takes for what one terminal on macOS
# means by them. At an escape and a letter it waits for more, and takes them for Esc and a typed letter where another
# escape, or thirty letters, came with them. In the form of xterm's `modifyOtherKeys` it drops Alt.
# An escape that comes alone is the key Esc: nothing follows within 100 ms (`ESCDELAY`, in milliseconds). Until then
# a byte that follows belongs to it, so that Alt+Enter is understood also where a slow connection splits it. Whoever
# presses Esc and Enter faster than that begins a new line, and sends nothing.

_ALT: Final = {f"\x1b{byte}": "alt+enter" for byte in "\r\n"} | {f"\x1b{digit}": f"alt+{digit}" for digit in range(10)}
_ALT_LETTER: Final = re.compile(r"\x1b(?![OP])[^\W\d_]")  # O and P begin longer sequences
_OTHER_KEYS: Final = re.compile(r"\x1b\[27;(\d{1,3});(\d{1,6})~")  # xterm's modifyOtherKeys: modifier, code point
_ALT_BIT: Final = 2
_ENTER: Final = 13

# The question about the background (OSC 11), and its answer, which ends with BEL or with ST.
_ESCAPE: Final = "\x1b"
_QUESTION: Final = "\x1b]11;"
_ANSWER: Final = re.compile(r"\x1b\]11;([^\x07\x1b]{0,80})(?:\x07|\x1b\\)")
_PART: Final = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b]{0,80}\x1b?)?)?)?)?\Z")
_RGB: Final = re.compile(r"rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})(?:/[0-9a-fA-F]{1,4})?")
_ANSWERED: Final = 2.0  # seconds in which terminals answer
_PIECE: Final = 0.1  # seconds between two pieces of an answer
_MUTE: Final = ("linux", "dumb")  # terminals that do not know the question, and may show it
_WEB_DRIVER: Final = "textual.drivers.web_driver:WebDriver"

# What is pasted stands between two marks. Control characters in it are dropped: Textual takes what follows an escape
# there for keys, so that a line break in it would send, and others would reach the terminal when they are drawn.
_PASTE_BEGINS: Final = "\x1b[200~"
_PASTE_ENDS: Final = "\x1b[201~"
_PASTE_RESTS: Final = 5.0  # seconds: what a paste would send by itself is worse than a key that waits


class PasteCleaner:
    """Drops control characters out of what is pasted, in however many pieces it comes."""

    def __init__(self) -> None:
        self.inside = False
        self._held = ""  # the beginning of the mark at the end, perhaps
        self._before = ""  # the last characters of a piece, which may be the beginning of the mark before a paste

    def clean(self, data: str) -> str:
        found: list[str] = []
        data, self._held = self._held + data, ""
        while data:
            piece, data = self._pasted(data) if self.inside else self._typed(data)
            found.append(piece)
        return "".join(found)

    def _typed(self, data: str) -> tuple[str, str]:
        """Return what comes before a paste, with the mark, and the rest."""
        joined = self._before + data
        at = joined.find(_PASTE_BEGINS)
        if at < 0:
            self._before = joined[1 - len(_PASTE_BEGINS) :]
            return data, ""
        end = at + len(_PASTE_BEGINS) - len(self._before)
        self.inside, self._before = True, ""
        return data[:end], data[end:]

    def _pasted(self, data: str) -> tuple[str, str]:
        """Return the text of a paste without control characters, with the mark at its end, and the rest."""
        text, mark, rest = data.partition(_PASTE_ENDS)
        if mark:
            self.inside = False
            return NOT_TYPED.sub("", text) + mark, rest
        ends = (size for size in range(len(_PASTE_ENDS) - 1, 0, -1) if data.endswith(_PASTE_ENDS[:size]))
        kept = len(data) - next(ends, 0)
        self._held = data[kept:]
        return NOT_TYPED.sub("", data[:kept]), ""


class BackgroundNamed(events.Event):
    """The terminal answered about its background."""

    def __init__(self, colour: Colour) -> None:
        super().__init__()
        self.colour = colour


class TypedJoiner(events.Key):
    """The key of a joiner, U+200C or U+200D. Python does not call it printable, so that Textual would leave it out of
    what is typed: Persian has it inside of words, and a family of emoji between its persons."""

    is_printable = True


TypedJoiner.handler_name = events.Key.handler_name
_JOINERS: Final = ("\u200c", "\u200d")


class KeyParser(XTermParser):
    """Takes the answer of the terminal about its background out of the keys, in however many pieces it comes."""

    _held = ""  # the beginning of an answer, perhaps
    _held_until = 0.0
    _fed_at = 0.0  # when something came last
    _circumflexes = 0  # that were typed, and are not keys yet

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._pastes = PasteCleaner()
        self._asked_until = time.monotonic() + _ANSWERED  # a lone escape is the key Esc afterwards, at once

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
            return
        self._fed_at = time.monotonic()
        data, self._held = self._held + self._pastes.clean(data), ""
        while (found := _ANSWER.search(data)) is not None:
            yield from self._keys(data[: found.start()])
            self._asked_until = 0.0
            colour = _colour(found[1])
            if colour is not None:
                yield BackgroundNamed(colour)
            data = data[found.end() :]
        part = _PART.search(data)
        if part is not None and (len(part[0]) >= len(_QUESTION) or time.monotonic() < self._asked_until):
            data, self._held = data[: part.start()], part[0]
            self._held_until = time.monotonic() + _PIECE
        yield from self._keys(data)

    def tick(self) -> Iterable[Message]:
        """Let go of what was no answer; an answer that was cut off is dropped. A paste whose end was lost ends."""
        if self._pastes.inside and time.monotonic() - self._fed_at > _PASTE_RESTS:
            yield from self.feed(_PASTE_ENDS)
        if self._held and time.monotonic() > self._held_until:
            held, self._held = self._held, ""
            if not held.startswith(_QUESTION):
                yield from self._keys(held)
                if held == _ESCAPE:
                    self._timeout_time = 0.0  # it came alone: nobody waits for what follows a second time
        yield from super().tick()

    def _keys(self, data: str) -> Iterable[Message]:
        """Yield the keys. An escape that began no sequence comes as a circumflex that nobody typed: it is Esc."""
        self._circumflexes += data.count("^")
        for message in super().feed(data) if data else ():
            if isinstance(message, events.Key) and message.character == "^":
                if not self._circumflexes:
                    message = events.Key("escape", _ESCAPE)
                self._circumflexes = max(0, self._circumflexes - 1)
            if isinstance(message, events.Key) and message.character in _JOINERS:
                message = TypedJoiner(message.key, message.character)
            yield message

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if sequence in _ALT:
            return [events.Key(_ALT[sequence], None)]
        if _ALT_LETTER.fullmatch(sequence) and sequence not in ANSI_SEQUENCES_KEYS:
            named = super()._sequence_to_key_events(sequence[1], alt=True)
            return [events.Key(event.key, None) for event in named]  # where it is bound to nothing, it types nothing
        found = super()._sequence_to_key_events(_OTHER_KEYS.sub(_in_the_form_of_kitty, sequence), alt)
        if alt and not sequence.isalnum():  # Textual knows no such key with Alt, and drops the escape
            return [events.Key("escape", _ESCAPE), *found]
        return found


def _colour(answer: str) -> Colour | None:
    """Return the colour in an answer such as rgb:ffff/ffff/ffff; None if it has another form."""
    found = _RGB.fullmatch(answer)
    if found is None:
        return None
    red, green, blue = (round(int(part, 16) * 255 / (16 ** len(part) - 1)) for part in found.groups())
    return red, green, blue


def _in_the_form_of_kitty(found: re.Match[str]) -> str:
    """Return the same key as the protocol of kitty writes it, if Alt or Enter is part of it; else leave it alone."""
    modifier, code = int(found[1]), int(found[2])
    if code == _ENTER or (modifier - 1) & _ALT_BIT:
        return f"\x1b[{ord(chr(code).lower())};{modifier}u"
    return found[0]


# A terminal that goes away while the program is on it: its window was closed, or the connection to it ended. Textual
# writes from a thread that ends with the first error. Once thirty writes are queued, the next writer waits for that
# thread for ever: the process stayed, with its profile locked and with the broker that others use.


class Outlasting:
    """A file whose terminal may be gone. Writes are dropped then."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError):
            self._file.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class _EndOfInput(threading.Event):
    """Is asked by the thread that reads keys, before each look at the terminal. It ends, and the process gets SIGHUP,
    once nobody can write to that terminal any more: the kernel sends it only to those whose own terminal it is."""

    def __init__(self, terminal: int) -> None:
        super().__init__()
        self._terminal = terminal

    def is_set(self) -> bool:
        poll = select.poll()  # for each look a new one: another thread ends this one, and may look at the same time
        poll.register(self._terminal, 0)
        if not super().is_set() and any(told & select.POLLHUP for _, told in poll.poll(0)):
            self.set()
            os.kill(os.getpid(), signal.SIGHUP)
        return super().is_set()


class OutlastingDriver(LinuxDriver):
    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = Outlasting(self._file)
        self.exit_event = _EndOfInput(self.fileno)
        self._lent = False  # another program has the terminal: what is drawn meanwhile is drawn again afterwards

    def run_input_thread(self) -> None:
        try:
            super().run_input_thread()
        except OSError:  # the terminal went between the look at it and the read
            os.kill(os.getpid(), signal.SIGHUP)

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        if os.environ.get("TERM", "") not in _MUTE:
            self.write(f"{_QUESTION}?\x1b\\")

    def stop_application_mode(self) -> None:
        # Textual leaves the handler where the terminal has gone: it would call a loop that has ended.
        signal.signal(signal.SIGWINCH, signal.SIG_DFL)
        super().stop_application_mode()

    def _sigcont_application(self, *_: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended, and the screen before it
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        """Set the terminal up again. SIGSTOP told nothing: its threads would be there twice, and would end once."""
        if self._auto_restart and self._app.is_running:
            if not self._lent:
                self.suspend_application_mode()
            self.resume_application_mode()
            self._app.refresh(layout=True)  # the terminal has nothing of what was drawn before

    def suspend_application_mode(self) -> None:
        super().suspend_application_mode()
        self._lent = True

    def resume_application_mode(self) -> None:
        self._lent = False
        super().resume_application_mode()

    def write(self, data: str) -> None:
        if not self._lent:
            super().write(in_their_cells(data))


def driver() -> type[Driver]:
    """Return the driver of a terminal, or of a browser that `sdschat serve` connects with the pipes of this program.
    From now on `KeyParser` reads either."""
    linux_driver.XTermParser = KeyParser  # type: ignore[attr-defined]
    if os.environ.get("TEXTUAL_DRIVER", "") != _WEB_DRIVER:
        return OutlastingDriver
    from textual.drivers import web_driver

    class BrowserDriver(web_driver.WebDriver):
        """Writes to the terminal in a page. It knows no isolates, and gives each of them a cell."""

        def write(self, data: str) -> None:
            super().write(in_their_cells(data if data.isascii() else ISOLATES.sub("", data)))

    web_driver.XTermParser = KeyParser  # type: ignore[attr-defined]
    return BrowserDriver


class Ending(App[int]):
    """An application whose error is raised by those who run it."""

    async def on_event(self, event: events.Event) -> None:
        """Drop what is pressed or pasted once the application ends: no screen is left to take it."""
        if not self.ends or not isinstance(event, events.InputEvent | events.Paste):
            await super().on_event(event)

    @property
    def ends(self) -> bool:
        return self._exit or not self.screen_stack

    def fail(self, error: Exception) -> None:
        """End the application because of an error outside of it: `crash` is that error then."""
        self._handle_exception(error)

    @property
    def crash(self) -> Exception | None:
        """Return the error that ended the application; None if there was none."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        """End the application. The error goes to a file, not to the screen: texts of others may be in it."""
        self._return_code = 1
        if self._exception is None:
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()


# Applications that know no Alt: each key of one burst acts in its order.
_ALT_BEFORE: Final = "alt+"
TAKEN: Final = 0.5  # seconds for what has the focus to take the keys that came before


def apart(event: events.Key) -> list[events.Key]:
    """Return Esc and the key behind it, where a terminal sent both at once, which is also how it sends Alt; else the
    key alone."""
    name = event.key.removeprefix(_ALT_BEFORE)
    if name == event.key:
        return [event]
    character = event.character or (name if len(name) == 1 else None)
    if name == "enter":
        character = "\r"
    return [events.Key("escape", "\x1b"), events.Key(name, character)]


class KeysWithoutAlt(Ending):
    """An application without Alt. While a line has the focus, Esc waits until the line has taken what was typed before
    it: the letters behind it are not for the line any more."""

    async def on_event(self, event: events.Event) -> None:
        if not isinstance(event, events.Key) or event.is_forwarded or self.ends:
            await super().on_event(event)
            return
        for key in apart(event):
            if key.key == "escape":
                await self._let_line_take_keys()
            await super().on_event(key)

    async def _let_line_take_keys(self) -> None:
        if self.focused is not None:
            taken = asyncio.Event()
            self.focused.call_later(taken.set)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(taken.wait(), TAKEN)
