"""Notifications for somebody who looks elsewhere: through the terminal, and through a command of the user's own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from sdschat.node.tasks import start
from sdschat.tui.model.words import clean, clean_name

_TITLE, _TEXT = 60, 300
_SECONDS: Final = 10.0  # that a command may take
_END: Final = "\x1b\\"


def form_of(environment: Mapping[str, str]) -> str:
    """Return the number of the sequence that this terminal shows as a notification; `off` where that is not known.

    Multiplexers do not pass it on, and a terminal that does not know it may write it on the screen.
    """
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    if "TMUX" in environment or term.startswith(("screen", "tmux")):
        return "off"
    if "KITTY_WINDOW_ID" in environment or term == "xterm-kitty":
        return "99"
    if program in ("iTerm.app", "WezTerm", "ghostty", "WarpTerminal"):
        return "9"
    if term.startswith(("foot", "rxvt-unicode")) or "VTE_VERSION" in environment:
        return "777"
    return "off"


def sequence(form: str, title: str, text: str) -> str:
    """Return the bytes of a notification. Of what others wrote, nothing can end the sequence or begin another one."""
    title, text = clean_name(title, limit=_TITLE), " ".join(clean(text, limit=_TEXT).split())
    if form == "9":
        return f"\x1b]9;{title}: {text}{_END}"
    if form == "99":
        return f"\x1b]99;i=sdschat:d=0;{title}{_END}\x1b]99;i=sdschat:p=body;{text}{_END}"
    if form == "777":
        return f"\x1b]777;notify;{title.replace(';', ',')};{text.replace(';', ',')}{_END}"
    return ""


class Notifier:
    """Tells of what is to the user. `write` writes to the terminal, `warn` shows a line to the user."""

    def __init__(
        self,
        form: str,
        command: Sequence[str],
        write: Callable[[str], None],
        warn: Callable[[str], None],
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._form = form_of(environment) if form == "auto" else form
        self._command = command
        self._write = write
        self._warn = warn
        self._warned = False
        self.running: asyncio.Task[None] | None = None

    def tell(self, channel: str, nick: str, text: str) -> None:
        """Tell of one message. While the command runs, it is not started again."""
        told = sequence(self._form, f"sdschat {channel}, {nick}", text)
        if told:
            self._write(told)
        if self._command and (self.running is None or self.running.done()):
            values = {
                "CHAT_CHANNEL": clean_name(channel),
                "CHAT_NICK": clean_name(nick),
                "CHAT_TEXT": clean(text, lines=True),
            }
            self.running = start(self._run(values), lambda error: self._complain(str(error)))

    def close(self) -> None:
        if self.running is not None:
            self.running.cancel()

    async def _run(self, values: Mapping[str, str]) -> None:
        """Run the command, without a shell: texts of others are in variables only."""
        nothing = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                env={**os.environ, **values},
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._complain(f"cannot be started: {getattr(error, 'strerror', None) or error}")
            return
        try:
            code = await asyncio.wait_for(process.wait(), _SECONDS)
        except TimeoutError:
            self._complain(f"was ended: it took more than {_SECONDS:.0f} s")
        else:
            if code:
                self._complain(f"ended with error {code}")
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()

    def _complain(self, what: str) -> None:
        if not self._warned:
            self._warned = True
            self._warn(f"notify_command {self._command[0]} {what}. This is said once.")
