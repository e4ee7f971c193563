"""Ten thousand invented nicks on the screen: `python -m tests.attacks.nicks [--size 10000]`."""

from __future__ import annotations

import shlex
import subprocess
import time
from pathlib import Path

from tests.attacks.attacker import new_key, presence
from tests.attacks.flood import memory_of
from tests.attacks.stage import CHANNEL, PATIENCE, Stage, is_here, main, seconds_until
from tests.cli.processes import command, environment

_SIZE = ("-x", "120", "-y", "40")
_SOON = 5.0  # seconds until a key has an effect
_GROWTH = 60.0  # MB
_IDLE = 0.2  # of a processor
_SEEN = 75.0  # seconds: a sync message, and the next presence after it
_AT_ONCE = 500


class Terminal:
    """A screen of the chat in a terminal of its own."""

    def __init__(self, stage: Stage, name: str) -> None:
        self._tmux = ("tmux", "-S", str(stage.home / "tmux"), "-f", "/dev/null")
        self._environment = environment(stage.home)
        chat = shlex.join(command("join", CHANNEL, "--name", name, *stage.options))
        self._do("new-session", "-d", *_SIZE, f"exec {chat}")

    def _do(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], env=self._environment, capture_output=True, check=True)
        return done.stdout.decode()

    @property
    def pid(self) -> int:
        return int(self._do("display-message", "-p", "#{pane_pid}"))

    def screen(self) -> str:
        return self._do("capture-pane", "-p")

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def seconds_until(self, text: str, patience: float = PATIENCE) -> float:
        """Return the seconds until the screen has this text; `patience` if it never does."""
        began = time.monotonic()
        while time.monotonic() - began < patience:
            if text in self.screen():
                return time.monotonic() - began
            time.sleep(0.05)
        return patience

    def close(self) -> None:
        self._do("kill-server")


def nicks(stage: Stage, size: int) -> bool:
    """Presences of as many new keys, each with a nick of its own, while somebody has the chat open.

    Defended if keys and lines of others are on the screen as soon as before, memory stays what it was, and a newcomer
    who says nothing is seen.
    """
    ann = stage.pipe("ann")
    terminal = Terminal(stage, "bob")
    try:
        terminal.seconds_until("ann")
        ann.say("before all of them")
        assert terminal.seconds_until("before all of them") < PATIENCE, "the chat does not start"
        pid = terminal.pid
        before, used = memory_of(pid), _processor(pid)
        for number in range(size):
            key = new_key()
            stage.attacker.publish(
                stage.attacker.topics.who(key.sender_id), presence(key, CHANNEL, f"nick number {number}"), retain=True
            )
            if number % _AT_ONCE == _AT_ONCE - 1:
                stage.attacker.flush()
        stage.attacker.flush()
        ann.say("after all of them")
        line = terminal.seconds_until("after all of them", 60.0)
        taken = _processor(pid) - used
        terminal.press("typed")
        typed = terminal.seconds_until("typed", 60.0)
        terminal.press("F4")
        opened = terminal.seconds_until("nick number", 10.0)
        terminal.press("F4")
        used = _processor(pid)
        time.sleep(10)
        idle = (_processor(pid) - used) / 10
        grown = memory_of(pid) - before
        stage.pipe("carol")
        newcomer = seconds_until(ann, lambda lines: any(is_here(line, "carol") for line in lines), _SEEN)
    finally:
        terminal.close()
    stage.saw("seconds until a newcomer who says nothing is seen", f"{newcomer:.1f}")
    stage.saw("seconds until a line of somebody is shown", f"{line:.1f}")
    stage.saw("seconds until a letter is shown", f"{typed:.1f}")
    stage.saw("seconds until the list of members is shown", f"{opened:.1f}")
    stage.saw("seconds of processor time for all of them", f"{taken:.1f}")
    stage.saw("share of a processor while nothing happens", f"{idle:.0%}")
    stage.saw("memory that the chat took for them, in MB", f"{grown:.0f}")
    return line < _SOON and typed < _SOON and grown < _GROWTH and idle < _IDLE and newcomer < _SEEN


def _processor(pid: int) -> float:
    """Return the seconds of processor time that a process took."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    main(nicks, 10_000, "nicks")
