"""Notifications, and the words that count as the own nick."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sdschat.tui.notifier import Notifier, form_of, sequence, through_tmux
from sdschat.tui.preferences import load
from tests.cli.processes import command, run
from tests.needs import needs_program
from tests.transport.worlds import free_port
from tests.tui.stage import Stage, stage, staged
from tests.tui.terminal import Terminal

HOSTILE = "ann\x1b\\\x07\x9c\x1b]52;c;AAAA\x07 end; rm -rf"


@pytest.mark.parametrize("form", ["9", "99", "777"])
def test_nothing_that_others_write_ends_a_notification_or_begins_another(form: str) -> None:
    made = sequence(form, f"lobby;{HOSTILE}", HOSTILE)
    parts = made.split("\x1b\\")
    assert parts.pop() == ""
    assert all(part.startswith(f"\x1b]{form};") for part in parts)
    assert all(letter.isprintable() for part in parts for letter in part[1:])
    assert form != "777" or made.count(";") == 3


@pytest.mark.parametrize(
    ("environment", "form"),
    [
        ({"TERM": "xterm-256color"}, "off"),
        ({"TERM": "xterm-kitty"}, "99"),
        ({"TERM": "xterm-kitty", "TMUX": "/tmp/x"}, "off"),
        ({"TERM": "foot"}, "777"),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "9"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "777"),
    ],
)
def test_a_terminal_that_is_not_known_gets_none(environment: dict[str, str], form: str) -> None:
    assert form_of(environment) == form


def _told(*commands: list[str]) -> list[str]:
    """Run each of these as the command, twice. Return what was said to the user."""
    said: list[str] = []

    async def story() -> None:
        for arguments in commands:
            notifier = Notifier("off", arguments, said.append, said.append)
            for _ in range(2):
                notifier.tell("lobby", "bob", HOSTILE)
                assert notifier.running is not None
                await notifier.running

    asyncio.run(story())
    return said


def test_the_command_gets_the_text_in_its_environment_and_no_shell_sees_it(tmp_path: Path) -> None:
    program = tmp_path / "hook.py"
    program.write_text(
        "import os, pathlib, sys\n"
        "pathlib.Path(sys.argv[1]).write_text('|'.join(os.environ[f'CHAT_{x}'] for x in ('CHANNEL', 'NICK', 'TEXT')))"
    )
    assert _told([sys.executable, str(program), str(tmp_path / "$(out)")]) == []
    channel, nick, text = (tmp_path / "$(out)").read_text().split("|")
    assert (channel, nick) == ("lobby", "bob")
    assert text.endswith("end; rm -rf")
    assert text.isprintable()


def test_a_command_that_fails_is_told_of_once() -> None:
    said = _told(["/nowhere/hook"], [sys.executable, "-c", "raise SystemExit(4)"])
    assert len(said) == 2
    assert "/nowhere/hook cannot be started: No such file" in said[0]
    assert "ended with error 4" in said[1]


def test_a_command_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sdschat.tui.notifier._SECONDS", 0.05)
    (said,) = _told([sys.executable, "-c", "import time; time.sleep(60)"])
    assert "it took more than" in said


def test_preferences_of_the_wrong_kind_are_named(tmp_path: Path) -> None:
    file = tmp_path / "tui.toml"
    file.write_text(
        'highlight = ["rope"]\nnotify_terminal = "55"\nnotify_command = "notify-send"\n[notify]\ndev = "mention"\n'
    )
    found, problems = load(file, '{"highlight": ["rope", "ferry"]}')
    assert found.highlight == ["rope", "ferry"]
    assert len(problems) == 3
    assert "dev in [notify] is 'mention', and must be one of all, mentions" in problems[2]
    assert "notify_terminal is '55'" in problems[0]
    assert "notify_command has to be a list" in problems[1]
    assert "notify_command" not in found.dumped()


@staged(peers=("bob",))
async def test_words_count_as_the_nick_does_from_now_on(s: Stage) -> None:
    s.say("who has the rope?")
    await s.until_text("who has the rope?")
    s.app.model.seen()
    await s.enter("/highlight rope")
    assert "rope counts as your nick does" in s.hint()
    assert [entry.mention for entry in s.app.model.timeline.messages()] == [True]
    s.app.app_focus = False
    s.say("the ROPE is here")
    await s.until(lambda: s.app.model.mentions == 1)
    await s.enter("/highlight")
    assert "rope" in s.hint()
    await s.enter("/highlight -rope")
    assert not any(entry.mention for entry in s.app.model.timeline.messages())
    await s.enter_instead("/highlight -rope")
    assert "is none of them" in s.hint()


@staged(peers=("bob",))
async def test_a_new_nick_of_ones_own_is_heard_of(s: Stage) -> None:
    await s.enter("/nick anna")
    s.say("anna, the rope")
    await s.until_text("anna, the rope")
    assert next(iter(s.app.model.timeline.messages())).mention


def test_a_terminal_without_the_focus_gets_a_notification(tmp_path: Path) -> None:
    port = free_port()

    def join(nick: str) -> list[str]:
        return command("join", "lobby", "--name", nick, "--timing", "demo", "--set", f"embedded.port={port}")

    with Terminal(join("ann"), tmp_path, env={"TERM": "xterm-kitty"}) as ann:
        ann.until_text("hosting the broker")
        with Terminal(join("bob"), tmp_path) as bob:
            bob.until_text("2 here")
            ann.press("\x1b[I")
            bob.enter("ann: seen")
            ann.until_text("ann: seen")
            ann.press("\x1b[O")  # the window lost the focus
            bob.enter("ann: unseen")
            ann.until(lambda: b"p=body;ann: unseen" in ann.written, "the notification")
            assert b"p=body;ann: seen" not in ann.written


@staged(peers=("bob",))
async def test_a_terminal_that_never_tells_the_focus_notifies_who_uses_no_keys(s: Stage) -> None:
    """Such as tmux by default: notify_command was never run there."""
    told: list[str] = []
    s.app.notifier = Notifier("off", [], lambda _: None, told.append)
    s.app.notifier.tell_all = lambda calls, *_: told.extend(name for name, _ in calls)  # type: ignore[method-assign]
    await s.press("x")
    s.say("ann: you are here")
    await s.until_text("you are here")
    assert told == []
    s.app._touched_at -= 60
    s.say("ann: are you there?")
    await s.until(lambda: told == ["lobby"])


@staged("lobby", "dev", peers=("bob",))
async def test_a_mention_in_a_channel_that_is_closed_before_the_next_frame_ends_nothing(s: Stage) -> None:
    s.app._draw_due = True  # the next frame is a moment away
    s.say("ann: are you there?")
    async with asyncio.timeout(10):
        while not s.app.workspace.calls:
            await asyncio.sleep(0.001)
    await s.app.close_channel("lobby")
    s.app._redraw()
    assert list(s.app.order) == ["dev"]


def _bells(terminal: Terminal) -> int:
    return re.sub(rb"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\\\)", b"", bytes(terminal.written)).count(b"\x07")


def test_the_bell_reaches_the_terminal_unless_the_user_is_there_or_wants_none(tmp_path: Path) -> None:
    """Many terminals, such as tmux by default, do not tell that another window has the keys: it never rang there."""
    broker = ("--timing", "demo", "--set", f"embedded.port={free_port()}")

    def say(ann: Terminal, text: str) -> None:
        assert run(tmp_path / "bob", "send", "lobby", text, "--name", "bob", *broker).returncode == 0
        ann.until_text(text)

    with Terminal(command("join", "lobby", "--name", "ann", *broker), tmp_path) as ann:
        ann.until_text("hosting the broker")
        say(ann, "for nobody")
        assert _bells(ann) == 0
        say(ann, "ann: no key came and no focus is told")
        ann.until(lambda: _bells(ann) == 1, "the bell")
        ann.press("x")
        ann.until_text("> x")
        say(ann, "ann: a key came a moment ago")
        ann.press("\x15\x1b[O")  # another window has the keys
        say(ann, "ann: you are away")
        ann.until(lambda: _bells(ann) == 2, "the bell")
        ann.press("\x1b[I/bell\r\x1b[O")
        ann.until_text("the bell is off")
        say(ann, "ann: you hear nothing")
        ann.press("\x1b[I/bell\r\x1b[O")
        ann.until_text("the bell rings when")
        say(ann, "ann: and now you do")
        ann.until(lambda: _bells(ann) == 3, "the bell")
        ann.press("\x1b[I")
        say(ann, "ann: you are back")
        ann.enter("/quit")
        assert ann.wait() == 0
        assert _bells(ann) == 3


def test_the_bell_rings_line_by_line_unless_it_is_off(tmp_path: Path) -> None:
    broker = ("--timing", "demo", "--set", f"embedded.port={free_port()}")

    def say(ann: Terminal, text: str) -> None:
        assert run(tmp_path / "bob", "send", "lobby", text, "--name", "bob", *broker).returncode == 0
        ann.until_text(text)

    with Terminal(command("join", "lobby", "--plain", "--name", "ann", *broker), tmp_path) as ann:
        ann.until_text("/quit leaves")
        say(ann, "for nobody")
        assert _bells(ann) == 0
        say(ann, "ann: you are called")
        ann.until(lambda: _bells(ann) == 1, "the bell")
        ann.enter("/bell off")
        ann.until_text("the bell is off")
        say(ann, "ann: you hear nothing")
        ann.enter("/quit")
        assert ann.wait() == 0
        assert _bells(ann) == 1


CONTENT = re.compile(rb"\x1b\](9|99|777);([^\x1b\x07\x9c]*)\x1b\\")


def _others_line(tmp_path: Path, port: int, terminal: Terminal) -> None:
    """Let somebody with a hostile text write to ann while her window has not the focus."""
    terminal.press("\x1b[O")
    options = ["--name", "bob", "--timing", "demo", "--set", f"embedded.port={port}"]
    done = run(tmp_path / "bob", "send", "lobby", f"ann: {HOSTILE} \x1bPtmux;\x1b\x1b]9;x\x07", *options)
    assert done.returncode == 0, done.stderr


def _home(tmp_path: Path, form: str) -> Path:
    folder = tmp_path / "config" / "sdschat"
    folder.mkdir(parents=True)
    (folder / "tui.toml").write_text(f'notify_terminal = "{form}"\n')
    return tmp_path / "config"


def _checked(written: bytes, form: str) -> bytes:
    """Return what the notifications of a terminal's output say. Fail if one holds a control character."""
    found = [content for number, content in CONTENT.findall(written) if number == form.encode()]
    assert found
    for content in found:
        assert all(letter >= 0x20 and letter != 0x7F for letter in content), content
        assert content.decode().isprintable(), content
    assert b"\x1b]52" not in written
    return b"|".join(found)


def _has_come(terminal: Terminal) -> bool:
    """True once the sequence with the text has come whole: it may come in several pieces."""
    return b"rm -rf" in b"".join(map(b"".join, CONTENT.findall(bytes(terminal.written))))


@pytest.mark.parametrize("form", ["9", "99", "777"])
def test_a_terminal_gets_whole_sequences_whatever_others_wrote(tmp_path: Path, form: str) -> None:
    port = free_port()
    ann = command("join", "lobby", "--name", "ann", "--timing", "demo", "--set", f"embedded.port={port}")
    with Terminal(ann, tmp_path, env={"XDG_CONFIG_HOME": str(_home(tmp_path, form))}) as terminal:
        terminal.until_text("hosting the broker")
        _others_line(tmp_path, port, terminal)
        terminal.until(lambda: _has_come(terminal), "the notification")
        assert b"rm -rf" in _checked(bytes(terminal.written), form)


def test_a_notification_passes_through_tmux(tmp_path: Path) -> None:
    tmux, port = needs_program("tmux"), free_port()
    ann = command("join", "lobby", "--name", "ann", "--timing", "demo", "--set", f"embedded.port={port}")
    config = tmp_path / "tmux.conf"
    config.write_text("set -g allow-passthrough on\nset -g focus-events on\nset -g default-terminal tmux-256color\n")
    outer = [tmux, "-S", str(tmp_path / "socket"), "-f", str(config), "new-session", *ann]
    with Terminal(outer, tmp_path, env={"XDG_CONFIG_HOME": str(_home(tmp_path, "99")), "TMUX": ""}) as terminal:
        try:
            terminal.until_text("hosting the broker")
            _others_line(tmp_path, port, terminal)
            terminal.until(lambda: _has_come(terminal), "the notification")
            assert b"rm -rf" in _checked(bytes(terminal.written), "99")
        finally:
            subprocess.run([tmux, "-S", str(tmp_path / "socket"), "kill-server"], check=False)


def test_what_passes_through_tmux_is_one_sequence() -> None:
    for form in ("9", "99", "777"):
        wrapped = through_tmux(sequence(form, f"lobby;{HOSTILE}", HOSTILE))
        assert wrapped.startswith("\x1bPtmux;\x1b\x1b]")
        inner = wrapped.removeprefix("\x1bPtmux;").removesuffix("\x1b\\")
        assert "\x1b" not in inner.replace("\x1b\x1b", ""), "every escape is doubled, so nothing ends it before its end"


@staged(peers=("bob",))
async def test_an_answer_to_a_message_of_ours_is_to_us(s: Stage) -> None:
    """Only a nick in the text was: who answered by /reply was not marked, counted or rung for."""
    await s.enter("who has the rope?")
    await s.until_text("✓")
    asked = next(iter(s.app.model.timeline.messages())).message_id
    s.app.app_focus = False
    rung: list[bool] = []
    s.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
    s.say("I do", reply_to=asked)
    await s.until(lambda: s.app.model.mentions == 1)
    assert rung
    assert next(line for line in s.log() if "bob" in line and "↳" in line).startswith("┃")
    first = s.say("it is wet")
    s.say("so it is", reply_to=first)
    await s.until_text("so it is")
    assert s.app.model.mentions == 1
    s.app.model.reload()
    assert [entry.mention for entry in s.app.model.timeline.messages()] == [False, True, False, False]


@staged("lobby", "dev", peers=("bob",))
async def test_an_answer_in_a_channel_that_was_not_shown_yet_counts_too(s: Stage) -> None:
    asked = s.app.node.send("dev", "who has the rope?").message_id
    s.say("I do", channel="dev", reply_to=asked)
    await s.until(lambda: s.app.models["dev"].unread == 1)
    assert not s.app.models["dev"].loaded
    assert s.app.models["dev"].mentions == 1


def test_what_is_unread_and_to_us_is_marked_so_after_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, "ann", "lobby", "dev", peers=("bob",)) as s:
            s.say("ann, the rope", channel="dev")
            s.say("is here", channel="dev")
            s.say("it is a new cable", channel="dev")
            await s.until(lambda: s.app.models["dev"].unread == 3)
            await s.enter("/highlight cable")
        async with stage(tmp_path, "ann", "lobby", "dev") as s:
            assert (s.app.models["dev"].unread, s.app.models["dev"].mentions) == (3, 2)
            await s.press("alt+2")
            assert s.app.models["dev"].mentions == 0

    asyncio.run(story())
