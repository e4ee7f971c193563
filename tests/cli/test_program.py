"""The program itself: help, versions, errors, exit codes."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click import UsageError

from sdschat import __version__
from sdschat.cli import program
from sdschat.cli.program import COMMANDS
from tests.cli.processes import environment, run, run_with_full_disk


def test_no_arguments_and_help_say_the_same(tmp_path: Path) -> None:
    done, asked = run(tmp_path), run(tmp_path, "--help")
    assert done.returncode == asked.returncode == 0
    assert done.stdout == asked.stdout
    assert done.stdout.index("Examples:") < done.stdout.index("Options:")
    assert all(f"\n  {name} " in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("group", ["timber", "pipeline"])
def test_a_group_without_a_command_shows_its_help(tmp_path: Path, group: str) -> None:
    done, asked = run(tmp_path, group), run(tmp_path, group, "--help")
    assert done.returncode == asked.returncode == 0
    assert done.stdout == asked.stdout
    assert not done.stderr


def test_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").stdout == f"sdschat, version {__version__}\n"


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "simulate"])
def test_every_command_explains_itself_with_examples_first(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.index("Examples:") < done.stdout.index("Options:")
    assert all(len(line) <= 110 for line in done.stdout.splitlines())


def _processor_time(tmp_path: Path, *arguments: str) -> float:
    """Return the least processor time of five runs: other processes may be busy."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], env=environment(tmp_path), capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def test_help_costs_little_more_than_starting_python(tmp_path: Path) -> None:
    """Help may take seven times as long as an empty Python, which starts in 12 ms; the bar for help is 300 ms."""
    assert _processor_time(tmp_path, "-m", "sdschat", "--help") < 20 * _processor_time(tmp_path, "-c", "pass")


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom sdschat.cli.program import run\nrun(['--help'])\n"
        "heavy = ('paho', 'google', 'sqlite3', 'nacl', 'asyncio', 'textual', 'rich')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def test_a_mistyped_command_is_not_guessed(tmp_path: Path) -> None:
    done = run(tmp_path, "sned", "lobby", "hello")
    assert done.returncode == 2
    assert "Did you mean send?" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("option", ["--members", "--private"])
def test_an_option_of_create_that_is_given_to_join_leads_to_create(tmp_path: Path, option: str) -> None:
    """The answer was: did you mean --theme?"""
    done = run(tmp_path, "join", "garden", option)
    assert done.returncode == 2
    assert f"sdschat create NAME {option}" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("send",),
        ("send", "lobby", ""),
        ("send", "a\nb", "hello"),
        ("send", "lobby", "hello", "--wait", "read"),
        ("send", "lobby", "hello", "--timeout", "soon"),
        ("send", "lobby", "hello", "--ephemeral", "--wait", "acked"),
        ("pipe", "lobby", "--linger", "long"),
        ("pipe", "lobby", "--broker", "http://somewhere"),
        ("pipe", "lobby", "--broker", "mqtt://user:secret@broker.example"),
        ("pipe", "lobby", "--name", "\t"),
        ("pipe", "lobby", "--profile", ".."),
        ("log", "lobby", "--since", "yesterday"),
        ("log", "lobby", "--name", "nobody"),
        ("decode", "absent.bin"),
        ("broker", "--listen", "somewhere"),
        ("broker", "--cert-file", "x"),
        ("broker", "--user", "ann"),
        ("simulate", "--seeds"),
    ],
)
def test_wrong_use_ends_with_2_and_says_so(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    quick = ("--set", "embedded.port=1") if arguments[0] in ("send", "pipe") else ()
    done = run(tmp_path, *arguments, *quick)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("history", "log"),
        ("chat", "join"),
        ("import", "import-identity"),
        ("ls", "channels"),
        ("repair", "doctor"),
    ],
)
def test_a_word_of_other_programs_leads_to_ours(capsys: pytest.CaptureFixture[str], word: str, meant: str) -> None:
    """A history led to the Store, and a chat to the paths of files: the names that look most alike."""
    assert program.run([word]) == 2
    assert f"Did you mean {meant}?" in capsys.readouterr().err


def test_whoever_would_leave_by_a_command_is_told_how_a_chat_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    """It suggested `serve` for leave, and `audit` for quit."""
    for word in ("leave", "quit"):
        assert program.run([word]) == 2
        assert "Ctrl+C twice leaves a chat, and /part in it closes one channel." in capsys.readouterr().err


@pytest.mark.parametrize("kind", [OSError, Exception])
def test_a_full_disk_is_told_as_one_where_a_library_tells_it_in_its_text_alone(
    capsys: pytest.CaptureFixture[str], kind: type[Exception]
) -> None:
    text = "Generic LocalFileSystem error\n \x1b[31mNo space left on device (os error 28)\n"
    assert program._ended_by(kind(text)) == 1
    said = capsys.readouterr().err
    assert said.startswith("sdschat: a file cannot be written: No space left on device.")
    assert said.count("\n") == 1


def test_too_many_open_files_are_told_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert program._ended_by(OSError(errno.EMFILE, "Too many open files", "sdschat.db")) == 1
    assert "Raise the limit (ulimit -n)" in capsys.readouterr().err


def test_what_nobody_foresaw_is_one_line_and_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code = program._ended_by(RuntimeError("the sky fell"))
    said = capsys.readouterr().err
    assert code == 1
    assert said.startswith("sdschat: unexpected failure: RuntimeError: the sky fell. The details are in ")
    kept = Path(said.split("details are in ")[1].strip().removesuffix("."))
    assert "RuntimeError: the sky fell" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_wrong_use_inside_a_command_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["completions", "tcsh"]) == 2
    assert "completions --help" in capsys.readouterr().err
    assert UsageError("x").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "kind"), [(("log", "c", "--last", "x"), "whole number"), (("share", "c", "--minutes", "x"), "number")]
)
def test_what_is_no_number_is_told_in_plain_words(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], kind: str
) -> None:
    assert program.run(list(arguments)) == 2
    assert f"'x' is not a {kind}." in capsys.readouterr().err


def test_choices_that_were_not_made_are_named_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run(["completions"]) == 2
    assert "bash, zsh, fish. See `sdschat completions --help`.\n" in (said := capsys.readouterr().err)
    assert said.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions(tmp_path: Path, shell: str) -> None:
    done = run(tmp_path, "completions", shell)
    assert done.returncode == 0, done.stderr
    assert "_SDSCHAT_COMPLETE" in done.stdout


def test_simulate_simulates(tmp_path: Path) -> None:
    done = run(tmp_path, "simulate", "--seeds", "2", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "2 seeds, 0 failed" in done.stdout


def test_a_reader_that_has_enough_is_no_failure(tmp_path: Path) -> None:
    code = "import os, sys; r, w = os.pipe(); os.dup2(w, 1); os.close(r); "
    code += "from sdschat.cli.program import run; sys.exit(run(['config']))"
    done = subprocess.run([sys.executable, "-c", code], env=environment(tmp_path), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""


@pytest.mark.parametrize("arguments", [("pipe", "lobby"), ("send", "lobby", "-"), ("decode",)])
def test_a_closed_standard_input_is_wrong_use(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    shell = ["sh", "-c", 'exec "$0" -m sdschat "$@" <&-', sys.executable, *arguments]
    done = subprocess.run(shell, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_a_closed_standard_error_leaves_standard_output_alone(tmp_path: Path) -> None:
    shell = ["sh", "-c", 'exec "$0" -m sdschat "$@" 2>&-', sys.executable, "sned", "lobby"]
    done = subprocess.run(shell, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stdout == b""


@pytest.mark.parametrize("arguments", [("config",), ("tail", "lobby", "--name", "ann")])
def test_a_closed_standard_output_is_no_failure(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    made = run(tmp_path, "send", "lobby", "hello", "--name", "ann", "--broker", "mqtt://127.0.0.1:1")
    assert made.returncode
    shell = ["sh", "-c", 'exec "$0" -m sdschat "$@" >&-', sys.executable, *arguments]
    done = subprocess.run(shell, cwd=tmp_path, env=environment(tmp_path), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("arguments", [("--help",), ("config",)])
def test_output_for_which_there_is_no_room_is_said_in_a_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run_with_full_disk(tmp_path, *arguments)
    assert done.returncode == 1
    assert done.stderr == "sdschat: the output cannot be written: No space left on device.\n"
