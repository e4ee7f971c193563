"""The program itself, in terminals of its own, over real brokers."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.processes import command, environment
from tests.transport.worlds import Mosquitto, free_port
from tests.tui.terminal import PATIENCE, Terminal

# What goes wrong in here stands for any error of our own: a local variable holds what must not be shown.
BROKEN = """
import sys
from sdschat.cli.program import run
from sdschat.tui.keys import KeyedHost
def broken(self):
    secret = "what nobody may see"
    raise RuntimeError("a planted error")
KeyedHost.action_focus_log = broken
sys.exit(run(sys.argv[1:]))
"""


def join(name: str, port: int, *more: str) -> list[str]:
    return command("join", "lobby", "--name", name, "--timing", "demo", "--set", f"embedded.port={port}", *more)


def with_broker(name: str, broker: Mosquitto) -> list[str]:
    return command("join", "lobby", "--name", name, "--timing", "demo", "--broker", broker.url)


def test_two_terminals_talk_and_go_on_when_the_host_of_the_broker_is_killed(tmp_path: Path) -> None:
    port = free_port()
    with Terminal(join("ann", port), tmp_path) as ann:
        ann.until_text("hosting the broker")
        with Terminal(join("bob", port), tmp_path, size=(80, 24)) as bob:
            bob.until_text("2 here")
            ann.enter("hello from ann")
            bob.until_text("hello from ann")
            bob.enter("hello from bob")
            ann.until_text("hello from bob", "✓")
            ann.kill(signal.SIGKILL)
            bob.until_text("hosting the broker")
            bob.enter("are you still there?")
            with Terminal(join("ann", port), tmp_path) as again:
                again.until_text("are you still there?", "hello from ann")
                assert "─ new ─" in again.text(), "ann sees it come, and that it was said while she was away"
                bob.until_text("✓")


def test_the_same_over_mosquitto_which_is_stopped_and_started_again(tmp_path: Path) -> None:
    broker = Mosquitto(tmp_path)
    asyncio.run(broker.start())
    try:
        with (
            Terminal(with_broker("ann", broker), tmp_path) as ann,
            Terminal(with_broker("bob", broker), tmp_path) as bob,
        ):
            bob.until_text("2 here")
            ann.enter("over mosquitto")
            bob.until_text("over mosquitto")
            broker.stop()
            ann.until_text("OFFLINE", "retry in")
            ann.enter("written meanwhile")
            ann.until_text("queued", "1 in the outbox")
            asyncio.run(broker.start())
            ann.enter("/reconnect")
            bob.enter("/reconnect")
            bob.until_text("written meanwhile")
            ann.until(lambda: ann.text().count("✓") == 2, "not all is acknowledged")
    finally:
        broker.stop()


@pytest.mark.parametrize(
    ("how", "code"), [("/quit", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 143)], ids=["quit", "term", "hangup"]
)
def test_however_it_ends_the_terminal_is_as_it_was(tmp_path: Path, how: str | int, code: int) -> None:
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.enter("a draft of this is kept\x1b") if isinstance(how, int) else ann.enter(how)
        if isinstance(how, int):
            ann.kill(how)
        assert ann.wait() == code
        assert ann.restored()


def test_whoever_leaves_with_something_unsent_reads_that_it_goes_out_later(tmp_path: Path) -> None:
    away = command("join", "lobby", "--name", "ann", "--broker", f"mqtt://127.0.0.1:{free_port()}")
    with Terminal(away, tmp_path) as ann:
        ann.until_text("OFFLINE")
        ann.enter("nobody has this")
        ann.until_text("queued")
        ann.enter("/quit")
        assert ann.wait() == 0
        after = bytes(ann.written).rpartition(b"\x1b[?1049l")[2].decode()
    assert "1 message not sent yet goes out at the next start." in after


def test_a_terminal_that_is_closed_takes_the_program_with_it(tmp_path: Path) -> None:
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.hang_up()
        assert ann.process.wait(PATIENCE) == 143


def test_a_program_that_is_stopped_without_a_word_goes_on_and_ends(tmp_path: Path) -> None:
    """Its threads were there twice after SIGSTOP and SIGCONT: it stayed after its end, with the terminal as it was. Of
    the screen only what changed was drawn again."""
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        for _ in range(2):
            before = len(ann.written)
            ann.process.send_signal(signal.SIGSTOP)
            ann.process.send_signal(signal.SIGCONT)
            for part in (b"hosting the broker", b"Enter send"):
                ann.until(lambda start=before, part=part: part in ann.written[start:], "it does not draw again")  # type: ignore[misc]
        ann.press("goes on")
        ann.until_text("goes on")
        ann.press("\x11\x11")
        assert ann.wait() == 0
        assert ann.restored()


def test_a_terminal_that_ends_without_a_signal_takes_the_program_with_it(tmp_path: Path) -> None:
    """It read the end of its input over and over, for as long as the machine ran."""
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.take_away()
        assert ann.process.wait(PATIENCE) == 143


def test_a_crash_shows_no_locals_leaves_a_report_and_restores_the_terminal(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", BROKEN, *join("ann", free_port())[3:]]
    with Terminal(arguments, tmp_path) as ann:
        ann.until_text("F1 help")
        ann.press("\x1b[17~")
        assert ann.wait() == 1
        assert ann.restored()
        after = bytes(ann.written).rpartition(b"\x1b[?1049l")[2].decode()
    assert "unexpected failure: RuntimeError: a planted error" in after
    assert "Traceback" not in after
    (report,) = tmp_path.rglob("failure-*.txt")
    kept = report.read_text()
    assert "a planted error" in kept
    assert "what nobody may see" not in kept
    assert "what nobody may see" not in after


def test_it_opens_without_a_broker_and_sends_once_there_is_one(tmp_path: Path) -> None:
    port = free_port()
    arguments = command("join", "lobby", "--name", "ann", "--timing", "demo", "--broker", f"mqtt://127.0.0.1:{port}")
    with Terminal(arguments, tmp_path) as ann:
        ann.until_text("OFFLINE", "retry in")
        ann.enter("written while offline")
        ann.until_text("written while offline", "queued", "1 in the outbox")
        broker = subprocess.Popen(
            command("broker", "--listen", f"127.0.0.1:{port}"),
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.PIPE,
        )
        try:
            assert broker.stdout is not None
            assert b"listening" in broker.stdout.readline()
            ann.enter("/reconnect")
            ann.until_text("unacked")
            ann.until(lambda: "OFFLINE" not in ann.text(), "still offline")
        finally:
            broker.terminate()
            broker.communicate(timeout=30)


def test_alt_and_a_digit_show_that_channel_and_write_nothing(tmp_path: Path) -> None:
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.enter("/join dev")
        ann.until_text("2 dev")
        ann.until(lambda: ann.text().startswith(" dev "), "dev is not shown")
        ann.press("\x1b1")
        ann.until(lambda: ann.text().startswith(" lobby "), "Alt+1 does not show the first channel")
        assert re.search(r"│> +│$", ann.text(), re.MULTILINE)


def test_without_colour_there_is_none(tmp_path: Path) -> None:
    with Terminal(join("ann", free_port()), tmp_path, env={"NO_COLOR": "1"}) as ann:
        ann.until_text("hosting the broker")
        ann.enter("plain words")
        ann.until_text("plain words", "unacked")
        codes = re.findall(rb"\x1b\[([0-9;]*)m", bytes(ann.written))
    named = {code for found in codes for code in found.split(b";")}
    assert not named & {b"38", b"48", *(str(code).encode() for code in (*range(30, 38), *range(40, 48)))}


def test_ascii_is_ascii(tmp_path: Path) -> None:
    with Terminal(join("ann", free_port(), "--ascii"), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.enter("plain words")
        ann.until_text("> unacked")
        ann.enter("/help")
        ann.until_text("Tab next page")
        assert ann.text().isascii()
        ann.press("\x1b")
        ann.until(lambda: "Tab next page" not in ann.text(), "the chat again")
        ann.enter("/lens events")
        ann.until_text("channel opened")
        assert ann.text().isascii()
        ann.press("\x10")
        ann.until_text("a channel, person, message", "Say what you do")
        assert ann.text().isascii()


def test_a_pipe_is_no_terminal(tmp_path: Path) -> None:
    done = subprocess.run(join("ann", free_port()), cwd=tmp_path, env=environment(tmp_path), capture_output=True)
    assert done.returncode == 2
    assert b"join needs a terminal" in done.stderr
    assert done.stdout == b""


def test_a_terminal_that_draws_no_screen_is_told_so_before_a_demonstration_begins(tmp_path: Path) -> None:
    with Terminal(command("demo"), tmp_path, env={"TERM": "dumb"}) as watcher:
        watcher.until_text("This terminal draws no screen: TERM is dumb.")
        assert watcher.wait() == 2


def test_complaints_may_go_to_a_file(tmp_path: Path) -> None:
    aside = ["sh", "-c", 'exec "$@" 2>complaints.txt', "sh"]
    with Terminal([*aside, *join("ann", free_port())], tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.enter("/quit")
        assert ann.wait() == 0
        assert ann.restored()
    assert (tmp_path / "complaints.txt").read_text() == ""


def test_a_profile_in_use_that_was_asked_for_is_said_on_a_line_not_on_a_screen(tmp_path: Path) -> None:
    port = free_port()
    with Terminal(join("ann", port), tmp_path) as ann:
        ann.until_text("F1 help")
        with Terminal(join("ann", port, "--profile", "ann"), tmp_path) as second:
            assert second.wait() == 5
            assert b"\x1b[?1049h" not in second.written


def test_plain_is_line_after_line(tmp_path: Path) -> None:
    port = free_port()
    process = subprocess.Popen(
        join("ann", port, "--plain"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    said, _ = process.communicate(b"hello\n/me waves\n/quit\n", timeout=30)
    assert process.returncode == 0
    lines = said.decode().splitlines()
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d ann.*: hello", line) for line in lines)
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d \* ann waves.*", line) for line in lines)
    assert b"\x1b" not in said


def test_the_same_command_in_two_terminals_makes_two_participants(tmp_path: Path) -> None:
    port = free_port()
    with Terminal(join("ann", port), tmp_path) as first:
        first.until_text("F1 help")
        with Terminal(join("ann", port), tmp_path) as second:
            second.until_text("ann is open in another terminal, so here you are ann-2")
            second.enter("hello from the second one")
            second.until_text("ann-2 hello from the second one")
            first.until_text("ann-2 hello from the second one")
            first.enter("/quit")
            second.enter("/quit")
            assert (first.wait(), second.wait()) == (0, 0)


def test_a_backspace_takes_the_letter_before_it_however_fast_the_next_one_is_typed(tmp_path: Path) -> None:
    with Terminal(join("ann", free_port()), tmp_path) as ann:
        ann.until_text("hosting the broker")
        ann.press("helx\x7flo\x1b[D\x1b[D\x1b[D\x7fE\r")
        ann.until_text("hEllo")


def test_without_arguments_a_person_is_offered_what_there_is(tmp_path: Path) -> None:
    with Terminal(command(), tmp_path) as terminal:
        terminal.until_text("join a channel", "watch a demonstration", "read the manual")
        terminal.enter("1")
        terminal.until_text("The channel [lobby]")
        terminal.enter("")
        terminal.until_text("others join sdschat join lobby", "the user's name on this machine")
        terminal.enter("/quit")
        assert terminal.wait() == 0
    with Terminal(command(), tmp_path) as terminal:
        terminal.until_text("Enter to leave")
        terminal.enter("")
        assert terminal.wait() == 0


def test_a_choice_that_is_not_offered_is_named(tmp_path: Path) -> None:
    with Terminal(command(), tmp_path) as terminal:
        terminal.until_text("Enter to leave")
        terminal.enter("7")
        assert terminal.wait() == 2
        assert "There is no '7' among these" in terminal.text()
