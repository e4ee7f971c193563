"""Options and arguments with values that nobody means: each is refused in one line, or does what it says."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sdschat.cli.errors import CommandProblem
from sdschat.cli.listening import listening_place
from sdschat.cli.program import run
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import make_settings
from sdschat.node.view.private import join_command
from sdschat.transport.memory import MemoryNetwork
from tests.cli.processes import command, environment, run_with_full_disk
from tests.node.worlds import InMemory
from tests.transport.worlds import free_port

Said = pytest.CaptureFixture[str]
Asked = Callable[..., tuple[int, str, str]]
_ESCAPE = "a\x1b[31mb"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Said) -> Asked:
    """Run a command in a home of its own; return its exit code, and what it said on both streams."""
    for name in os.environ:
        if name.startswith(("SDSCHAT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run([*arguments, "--data-dir", str(tmp_path / "data")])
        said = capfd.readouterr()
        return code, said.out, said.err

    return asked


@pytest.fixture
def lobby(tmp_path: Path) -> Path:
    """A folder of profiles in which ann has said twelve things."""

    async def talk() -> None:
        settings = make_settings({})
        profile = open_profile(database_path(tmp_path / "data", "ann"), settings)
        node = Node(profile, "ann", settings, InMemory(MemoryNetwork(asyncio.get_running_loop().call_soon), settings))
        node.join("lobby")
        for number in range(12):
            node.send("lobby", f"number {number}")
        await node.close()

    asyncio.run(talk())
    return tmp_path / "data"


@pytest.mark.parametrize(
    "arguments",
    [
        ("config", "--set", f"{_ESCAPE}=1"),
        ("config", "--config", _ESCAPE),
        ("config", "--name", _ESCAPE),
        ("log", "lobby", "--name", _ESCAPE),
    ],
)
def test_a_name_drives_no_terminal(ask: Asked, arguments: tuple[str, ...]) -> None:
    _, out, err = ask(*arguments)
    assert "a\\u{1b}[31mb" in out + err
    assert "\x1b" not in out + err


@pytest.mark.parametrize("prefix", ["$SYS", "$share/x", "a\x1bb", "a\tb", "a\x7fb"])
def test_a_topic_prefix_of_the_broker_itself_or_with_control_characters_is_refused(ask: Asked, prefix: str) -> None:
    """A broker forbids or ignores what is written there."""
    code, _, err = ask("config", "--set", f"mqtt.topic_prefix={prefix}")
    assert code == 2
    assert err.startswith("sdschat: mqtt.topic_prefix is ")
    assert "must be one or more levels such as sds/1" in err


@pytest.mark.parametrize("source", ["file", "variable", "project"])
def test_a_bad_timing_is_told_with_its_source(
    ask: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    more: tuple[str, ...] = ()
    told = "SDSCHAT_TIMING"
    if source == "variable":
        monkeypatch.setenv("SDSCHAT_TIMING", "fast")
    else:
        told = "sdschat.toml"
        (tmp_path / told).write_text('timing = "fast"\n')
        more = ("--config", told) if source == "file" else ()
    assert ask("config", *more) == (
        2,
        "",
        f"sdschat: timing is 'fast', and must be one of spec, demo. (from {told})\n",
    )


def test_following_up_to_a_moment_that_is_over_ends(ask: Asked, lobby: Path) -> None:
    """It waited for ever."""
    code, out, err = ask("log", "lobby", "--follow", "--until", "2020-01-01", "--name", "ann")
    assert (code, out) == (0, "")
    assert "no message fits" in err


def test_following_ends_with_the_wanted_time(ask: Asked, lobby: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = time.time_ns() + 10**12
    clock = iter((ends - 2 * 10**9, ends - 10**9, ends + 10**9))  # at the start, at a first look, and at a second one
    monkeypatch.setattr("sdschat.cli.history_lines.time", SimpleNamespace(time_ns=clock.__next__))
    code, out, err = ask("log", "lobby", "--follow", "--until", str(ends // 10**6), "--name", "ann")
    assert (code, err) == (0, "")
    assert out.count("number") == 12
    assert next(clock, None) is None


@pytest.mark.parametrize("listen", ["foo bar", "xx", "xx:8000", "127.0.0.999", "[::1", "::1]", "fe80::1%lo"])
def test_what_is_no_address_is_not_listened_at(listen: str) -> None:
    with pytest.raises(CommandProblem, match="must be an IP address"):
        listening_place(listen, 8000)


@pytest.mark.parametrize("beginning", ["", "0"])
def test_ids_that_begin_alike_are_counted(ask: Asked, lobby: Path, beginning: str) -> None:
    _, out, _ = ask("log", "lobby", "--json", "--name", "ann")
    ids = sorted(json.loads(line)["message"]["message_id"] for line in out.splitlines())
    while sum(one.startswith(beginning) for one in ids) < 2:
        beginning = ids[0][:1] if not beginning else format(int(beginning, 16) + 1, "x")
    many = [one for one in ids if one.startswith(beginning)]
    code, _, err = ask("inspect", "lobby", beginning, "--name", "ann")
    assert code == 2
    assert err.startswith(f"sdschat: {len(many)} ids begin with {beginning!r}: {many[0]}, {many[1]}")
    assert err.count(", ") <= 3


@pytest.mark.parametrize("arguments", [("version", "--json"), ("doctor", "--json")])
def test_a_json_line_has_no_spaces_between_its_fields(ask: Asked, capfd: Said, arguments: tuple[str, ...]) -> None:
    if arguments[0] == "version":
        assert run([*arguments]) == 0
        out = capfd.readouterr().out
    else:
        _, out, _ = ask(*arguments, "--broker", "mqtt://127.0.0.1:1")
    for line in out.splitlines():
        assert line == json.dumps(json.loads(line), separators=(",", ":"))


def test_a_store_tells_its_own_name_and_profile(capfd: Said) -> None:
    assert run(["store", "--help"]) == 0
    out = capfd.readouterr().out
    assert "Its nick. Default: store." in out
    assert "user name" not in out


@pytest.mark.parametrize("option", ["file", "--passphrase-file"])
def test_a_file_that_never_ends_is_no_exported_identity(ask: Asked, tmp_path: Path, option: str) -> None:
    (tmp_path / "ann.key").write_text("anything")
    endless = ("/dev/zero",) if option == "file" else ("ann.key", "--passphrase-file", "/dev/zero")
    code, _, err = ask("import-identity", *endless, "--name", "ann")
    assert (code, err) == (2, "sdschat: /dev/zero is too large to be what this reads. Check its name.\n")


def test_where_only_a_store_was_it_is_named_as_one(ask: Asked, tmp_path: Path) -> None:
    open_profile(database_path(tmp_path / "data", "store"), make_settings({})).store.close()
    code, _, err = ask("log", "lobby")
    assert code == 2
    assert err.endswith("There is only that of a Store: --profile store reads it.\n")
    _, out, _ = ask("doctor", "--broker", "mqtt://127.0.0.1:1")
    assert "is made with the first use; not checked: store, each with --profile\n" in out


@pytest.mark.parametrize("to", ["", " "])
@pytest.mark.parametrize("arguments", [("send", "lobby", "between you and me"), ("log", "lobby")])
def test_a_message_to_an_empty_name_is_not_one_to_everybody(
    ask: Asked, lobby: Path, arguments: tuple[str, ...], to: str
) -> None:
    """`--to "$NICK"` without a value sent it to the whole channel."""
    assert ask(*arguments, "--to", to, "--name", "ann") == (2, "", "sdschat: --to is empty. Give a nick, or an id.\n")


def test_send_says_that_its_id_cannot_be_written(tmp_path: Path) -> None:
    done = run_with_full_disk(
        tmp_path, "send", "lobby", "hello", "--name", "ann", "--set", f"embedded.port={free_port()}"
    )
    assert done.returncode == 1
    assert done.stderr.endswith("sdschat: the output cannot be written: No space left on device.\n")


def test_pipe_refuses_an_answer_to_what_is_no_id(tmp_path: Path) -> None:
    lines = [{"say": "x", "reply_to": "hello\x07"}, {"say": "y", "reply_to": "ab" * 32}, {"say": "z", "reply_to": ""}]
    done = subprocess.run(
        command(
            "pipe", "lobby", "--json-input", "--linger", "0s", "--name", "ann", "--set", f"embedded.port={free_port()}"
        ),
        cwd=tmp_path,
        env=environment(tmp_path),
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    told = [json.loads(line) for line in done.stdout.splitlines()]
    (refused,) = (line for line in told if line["event"] == "input_refused")
    assert (refused["line"], refused["reason"]) == (1, '"reply_to" is "hello\\u0007", and no id of a message')
    said = [line["message"] for line in told if line["event"] == "delivered"]
    assert [(one["text"], one.get("reply_to")) for one in said] == [("y", "ab" * 32), ("z", None)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("log", "@", "--name", "ann"), "@ alone is nobody"),
        (("log", "lobby", "--to", "@", "--name", "ann"), "--to is empty"),
        (("log", "lobby", "--since", "9" * 20, "--name", "ann"), "is no moment"),
        (("log", "lobby", "--until", "999999999999d", "--name", "ann"), "is no moment"),
        (("log", "lobby", "--since", "", "--name", "ann"), "'' is no moment"),
        (("share", "lobby", "--minutes", "nan", "--name", "ann"), "--minutes is nan, and must be a number from 0"),
        (("share", "lobby", "--minutes", "inf", "--name", "ann"), "--minutes is inf, and must be a number from 0"),
        (("pipe", "lobby", "--linger", "", "--name", "ann"), "--linger is '', and must be a duration"),
        (("verify", "lobby", "", "--name", "ann"), "Name a channel and a nick"),
        (("verify", "--confirm", "--name", "ann"), "Name a channel and a nick"),
        (("doctor", "--name", "ann", "--salvage", "ann"), "There is a profile ann already"),
        (("channels", "--name", "ann", "--config", "~nobody-here/x"), "begins with a user who is not known here"),
        (("log", "lobby", "--name", "ann", "--set", "store.max_size=20"), "is 20 bytes, and must be at least 1M"),
        (("log", "lobby", "--name", "a\udcffb"), "a\\u{dcff}b has a byte that is no text in UTF-8"),
        (("inspect", "lobby", "a\udcffb", "--name", "ann"), "a\\u{dcff}b has a byte that is no text in UTF-8"),
    ],
)
def test_a_value_beyond_all_sense_is_refused_in_one_line(
    ask: Asked, lobby: Path, arguments: tuple[str, ...], said: str
) -> None:
    code, out, err = ask(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("simulate", "--seeds", "9" * 22), "--seeds"),
        (("simulate", "--first", "9" * 22), "--first"),
        (("broker", "--user", ""), "--user is empty. Give it a value, or leave it out."),
        (
            ("broker", "--password-file", "nowhere"),
            "--password-file is for a user: with no --user anybody",
        ),
        (("log", "lobby", "--data-dir", ""), "it is empty. Give the path of a file or a folder."),
    ],
)
def test_an_empty_or_endless_value_of_a_command_is_refused(capfd: Said, arguments: tuple[str, ...], said: str) -> None:
    """An empty --data-dir made a profile in the folder that one was in, and a broker of which only the file of the
    password was given let in everybody."""
    assert run(arguments) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", ""),
        ("broker", "--cert-file", ""),
        ("decode", ""),
        ("demo", "--record", ""),
        ("export", "lobby", ""),
        ("import-identity", ""),
        ("join", "lobby", "--record", ""),
        ("log", "lobby", "--config", ""),
        ("pipeline", "ingest", "", "--lake", "lake"),
        ("replay", ""),
        ("send", "lobby", "hello", "--password-file", ""),
        ("share", "lobby", "--output", ""),
        ("simulate", "--grid", "loss", "--lake", ""),
        ("tap", "lobby", "--to", ""),
    ],
)
def test_an_empty_path_is_not_the_folder_that_one_is_in(capfd: Said, arguments: tuple[str, ...]) -> None:
    assert run(arguments) == 2
    assert "it is empty. Give the path of a file or a folder" in capfd.readouterr().err


def test_a_home_in_the_data_dir_of_a_file_is_looked_into_for_the_only_profile(
    ask: Asked, lobby: Path, tmp_path: Path, capfd: Said
) -> None:
    (tmp_path / "sdschat.toml").write_text('data_dir = "~/data"\n')
    assert run(["log", "lobby"]) == 0
    assert "ann: number 3" in capfd.readouterr().out


@pytest.mark.parametrize("arguments", [("locate",), ("share", "lobby", "--name", "ann")])
def test_a_folder_that_is_gone_is_told(
    ask: Asked, lobby: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, _, err = ask(*arguments)
    assert (code, err) == (2, "sdschat: the folder that you are in is gone. Change to another one.\n")


def test_what_cannot_be_told_changes_no_exit_code(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("log", "lobby"), cwd=tmp_path, env=environment(tmp_path), stderr=full, check=False
        )
    assert done.returncode == 2


def test_the_command_for_others_takes_no_channel_for_an_option() -> None:
    node = cast(
        "Node",
        SimpleNamespace(broker="mqtt://h", broker_wants_user=False, broker_options="", settings=make_settings({})),
    )
    assert join_command(node, "-rf") == "sdschat join --broker mqtt://h -- -rf"
    assert join_command(node, "a b") == "sdschat join 'a b' --broker mqtt://h"
