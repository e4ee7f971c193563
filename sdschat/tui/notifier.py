"""Notifications for somebody who looks elsewhere: through the terminal, and through a command of the user's own.

Afterwards a line says what the user missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TextIO

from sdschat.node.events import NodeEvent, ev
from sdschat.node.tasks import start
from sdschat.tui.model.channel import ChannelModel
from sdschat.tui.model.words import clean, clean_name, count, duration, listed

if TYPE_CHECKING:
    from sdschat.tui.host import Host

_TITLE, _TEXT = 60, 300
_SECONDS: Final = 10.0  # that a command may take
_ESCAPE: Final = "\x1b"
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


def through_tmux(told: str) -> str:
    """Return what makes tmux hand a sequence to the terminal outside, where its option allow-passthrough is on; where
    that is off, it drops all of it."""
    return f"\x1bPtmux;{told.replace(_ESCAPE, 2 * _ESCAPE)}{_END}"


class Notifier:
    """Tells of what is to the user. `write` writes to the terminal, `warn` shows a line to the user."""

    def __init__(
        self,
        form: str,
        command: Sequence[str],
        write: Callable[[str], object],
        warn: Callable[[str], object],
    ) -> None:
        self._form = form_of(os.environ) if form == "auto" else form
        self._in_tmux = "TMUX" in os.environ
        self._command = command
        self._write = write
        self._warn = warn
        self._warned = False
        self.running: asyncio.Task[None] | None = None

    def tell(self, channel: str, nick: str, text: str) -> None:
        """Tell of one message. While the command runs, it is not started again."""
        told = sequence(self._form, f"sdschat {channel}, {nick}", text)
        if told:
            self._write(through_tmux(told) if self._in_tmux else told)
        if self._command and (self.running is None or self.running.done()):
            values = {
                "CHAT_CHANNEL": clean_name(channel),
                "CHAT_NICK": clean_name(nick),
                "CHAT_TEXT": clean(text, lines=True),
            }
            self.running = start(self._run(values), lambda error: self._complain(str(error)))

    def tell_all(
        self, calls: Sequence[tuple[str, str]], models: Mapping[str, ChannelModel], label: Callable[[str], str]
    ) -> None:
        """Tell of messages by conversation and id. `label`: how a conversation is named to the user."""
        for name, message_id in calls:
            model = models[name]
            shown = model.conversation.message(message_id)
            if shown is not None:
                entry = model.entry_for(shown)
                self.tell(label(name), model.name_of(entry.sender_id, entry.nick), entry.text)

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


class LineAlerts:
    """Rings on a terminal, and runs the user's command, for each message that is to the user: line by line nothing
    tells whether another window has the keys."""

    def __init__(self, host: Host, out: TextIO, write: Callable[[str], object]) -> None:
        self._host, self._out, self._write = host, out, write
        self._notifier: Notifier | None = None  # from the first notification on

    def tell(self) -> None:
        """Tell of what came since this was last called."""
        workspace, wanted = self._host.workspace, self._host.preferences
        if workspace.take_ring() and wanted.bell and self._out.isatty():
            self._write("\a")
        calls = workspace.take_calls()
        if not calls:
            return
        if self._notifier is None:
            form = "off" if wanted.notify_terminal == "auto" else wanted.notify_terminal
            self._notifier = Notifier(form, wanted.notify_command, self._write, self._host.warn)
        self._notifier.tell_all(calls, workspace.models, self._host.label)


_LEAST: Final = 60_000  # milliseconds; who was away for less has seen nothing pass


class Away:
    """One absence."""

    def __init__(self, models: Mapping[str, ChannelModel], now: int) -> None:
        self._since = now
        self._before = {name: (model.unread, model.mentions) for name, model in models.items()}
        self._healed = self._lost = 0

    def hear(self, event: NodeEvent) -> None:
        match event.body:
            case ev.GapClosed():
                self._healed += 1
            case ev.DependenciesLost(dependencies):
                self._lost += len(dependencies)

    def told(self, models: Mapping[str, ChannelModel], now: int) -> str:
        """Return a line about it; empty if it was short, or nothing happened."""
        lines = to_user = 0
        people: dict[str, None] = {}
        for name, model in models.items():
            unread, mentions = self._before.get(name, (0, 0))
            lines += max(0, model.unread - unread)
            to_user += max(0, model.mentions - mentions)
            for entry in model.timeline.messages():
                if not entry.own and entry.received_at >= self._since:
                    people[model.name_of(entry.sender_id, entry.nick)] = None
        if now - self._since < _LEAST or not (lines or self._healed or self._lost):
            return ""
        by = f" by {listed(list(people))}" if people else ""
        parts = [f"{count(lines, 'message')}{by}"] if lines else []
        parts += [f"{to_user} to you"] if to_user else []
        parts += [f"{count(self._healed, 'gap')} healed"] if self._healed else []
        parts += [f"{count(self._lost, 'message')} lost"] if self._lost else []
        elsewhere = ", Alt+A next channel" if sum(model.unread > 0 for model in models.values()) > 1 else ""
        keys = f"Alt+U first unread{elsewhere}" if lines else "F2 tells more"
        return f"while you were away ({duration(now - self._since)}): {', '.join(parts)} | {keys}"
