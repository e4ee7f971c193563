"""Processes that talk to each other over the embedded broker."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sdschat.transport.address import own_addresses
from tests.cli.processes import PATIENCE, Line, Pipe, command, environment, run, run_with_full_disk
from tests.needs import needs_module, needs_program
from tests.transport.worlds import beside_mosquitto, free_port

needs_module("iotcore")
Start = Callable[..., Pipe]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def start(tmp_path: Path, port: int) -> Iterator[Start]:
    """Start `sdschat pipe lobby`; at the end, kill the processes that still run."""
    started: list[Pipe] = []

    def begin(name: str, *more: str) -> Pipe:
        shared = ("--timing", "demo", "--set", f"embedded.port={port}", "--set", "sds.sync_interval=1s")
        started.append(Pipe(tmp_path, "lobby", "--name", name, *shared, *more))
        return started[-1]

    yield begin
    for pipe in started:
        with contextlib.suppress(ProcessLookupError):
            pipe.kill(signal.SIGKILL)


def together(pipes: list[Pipe]) -> None:
    """Wait until every process sees all others."""
    for pipe in pipes:
        pipe.until_event("connection", state="connected")
    for pipe in pipes:
        pipe.until(
            lambda lines: len({line["sender_id"] for line in lines if line["event"] == "presence"}) >= len(pipes) - 1,
            "not everybody is here",
        )


def test_two_talk_and_acknowledge(start: Start) -> None:
    ann = start("ann")
    ann.until_event("connection", state="connected")
    bob = start("bob")
    together([ann, bob])
    ann.say("hello")
    bob.until_texts("hello")
    bob.say("hi ann")
    ann.until_texts("hello", "hi ann")
    ann.until_event("state", state="acked")
    bob.until_event("state", state="acked")
    assert ann.end() == 0
    assert bob.end() == 0
    first = next(line for line in bob.lines if line["event"] == "delivered")
    assert first["message"]["nick"] == "ann"
    assert first["message"]["verdict"] == "new"
    assert not first["message"]["own"]
    assert all({"event", "channel", "time"} <= line.keys() for line in ann.lines)
    assert ann.said[0] == "timing: demo\n"


@pytest.mark.parametrize("on_join", ["none", "24h"])
def test_all_is_acknowledged_whoever_joined_later(start: Start, on_join: str) -> None:
    """Each writes several messages in a row; the messages of the other name only the last two of them."""
    shared = ("--set", f"history.on_join={on_join}")
    ann = start("ann", *shared)
    ann.until_event("connection", state="connected")
    ann.say(*(f"before {number}" for number in range(5)))
    ann.until(lambda lines: len(ann.texts(lines)) == 5, "not all is written")
    bob = start("bob", *shared)
    together([ann, bob])
    bob.until_event("catching_up", state="done")  # the comparison of logs acknowledges messages too
    time.sleep(4)
    ann.say(*(f"of ann {number}" for number in range(10)))
    bob.say(*(f"of bob {number}" for number in range(10)))
    for pipe, count in ((ann, 15), (bob, 10)):
        pipe.until(lambda lines: len(_acknowledged(lines)) == count, "not all is acknowledged", 60.0)  # noqa: B023
    resent = [sum(line["event"] == "resent" for line in pipe.lines) for pipe in (ann, bob)]
    time.sleep(3)
    assert resent == [sum(line["event"] == "resent" for line in pipe.lines) for pipe in (ann, bob)]


def _acknowledged(lines: list[Line]) -> set[str]:
    return {line["message_id"] for line in lines if line["event"] == "state" and line["state"] == "acked"}


def test_the_host_of_the_broker_is_killed_and_the_others_go_on(start: Start, tmp_path: Path, port: int) -> None:
    ann = start("ann")
    ann.until_event("hosting", hosting=True)
    bob, eve = start("bob"), start("eve")
    together([ann, bob, eve])
    ann.say("one")
    for pipe in (bob, eve):
        pipe.until_texts("one")
    assert ann.kill(signal.SIGKILL) == -signal.SIGKILL
    for pipe in (bob, eve):
        pipe.until_event("connection", state="disconnected")
    bob.say("two")
    eve.say("three")
    for pipe in (bob, eve):
        pipe.until_texts("one", "two", "three")
    # After a kill and a restart, a node has the same log.
    again = start("ann")
    again.until_texts("two", "three")
    for pipe in (bob, eve, again):
        assert pipe.kill(signal.SIGTERM) == 143
    logs = [run(tmp_path, "log", "lobby", "--json", "--name", name).stdout for name in ("ann", "bob", "eve")]
    ids = [[json.loads(line)["message"]["message_id"] for line in log.splitlines()] for log in logs]
    assert len(ids[0]) == 3
    assert ids[0] == ids[1] == ids[2]


@contextlib.contextmanager
def serving(tmp_path: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A broker in a process of its own, ready for connections."""
    with subprocess.Popen(
        command("broker", "--listen", f"127.0.0.1:{port}"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
    ) as served:
        assert served.stdout is not None
        assert served.stdout.readline()
        try:
            yield served
        finally:
            served.kill()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_a_broker_ends_with_the_exit_codes_of_all_commands(tmp_path: Path, port: int, number: int, code: int) -> None:
    with serving(tmp_path, port) as served:
        served.send_signal(number)
        assert served.wait(PATIENCE) == code


def test_what_is_written_while_the_broker_is_away_is_taken_however_much_and_goes_out_later(
    start: Start, tmp_path: Path, port: int
) -> None:
    def count(lines: list[Line], event: str) -> int:
        return sum(line["event"] == event for line in lines)

    with serving(tmp_path, port):
        ann = start("ann", "--broker", f"mqtt://127.0.0.1:{port}")
        ann.until_event("connection", state="connected")
    ann.until_event("connection", state="disconnected")
    ann.say(*(f"line {number}" for number in range(2000)))
    ann.until(lambda lines: count(lines, "delivered") == 2000, "not all was taken")
    assert not count(ann.lines, "published")
    with serving(tmp_path, port):
        ann.until(lambda lines: count(lines, "published") >= 2000, "not all went out", 2 * PATIENCE)


def test_a_reader_that_hangs_does_not_hang_the_program(start: Start, tmp_path: Path, port: int) -> None:
    arguments = command("pipe", "lobby", "--name", "deaf", "--linger", "forever", "--set", f"embedded.port={port}")
    arguments += ["--set", "trust.messages_per_minute=0"]
    deaf = subprocess.Popen(
        arguments,
        cwd=tmp_path,
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        ann = start("ann")
        ann.until_event("presence", nick="deaf", online=True)
        ann.say(*(f"{number} {'x' * 500}" for number in range(300)))  # more than the buffer of a pipe
        ann.until(lambda lines: sum(line["event"] == "published" for line in lines) >= 300, "not all went out")
        deaf.send_signal(signal.SIGTERM)
        assert deaf.wait(30) == 143
    finally:
        deaf.kill()
        deaf.wait(30)
        if deaf.stdout is not None:
            deaf.stdout.close()


def test_send_waits_for_the_acknowledgement(start: Start, tmp_path: Path, port: int) -> None:
    bob = start("bob", "--linger", "forever")
    bob.until_event("connection", state="connected")
    done = run(tmp_path, "send", "lobby", "are you there?", "--wait", "acked", *_ann(port))
    assert done.returncode == 0, done.stderr
    bob.until_texts("are you there?")
    assert done.stdout.strip() == next(
        line["message"]["message_id"] for line in bob.lines if line["event"] == "delivered"
    )
    assert "acked" not in done.stderr
    seen, terminal = pty.openpty()
    words = command("send", "lobby", "and now?", "--wait", "acked", *_ann(port))
    watched = subprocess.run(
        words, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=terminal, check=True
    )
    assert len(watched.stdout.split()) == 1
    assert os.read(seen, 1000).endswith(b"acked by bob\r\n")
    for end in (seen, terminal):
        os.close(end)
    assert bob.kill(signal.SIGINT) == 130


def test_without_input_it_listens_as_long_as_it_is_to_linger(start: Start, tmp_path: Path, port: int) -> None:
    bob = start("bob", "--linger", "forever")
    bob.until_event("connection", state="connected")
    bob.say("before ann was here")
    bob.until_event("published")
    ann = start("ann", "--linger", "1h")
    assert ann.process.stdin is not None
    ann.process.stdin.close()
    ann.until_texts("before ann was here")


def test_send_takes_standard_input(start: Start, tmp_path: Path, port: int) -> None:
    bob = start("bob", "--linger", "forever")
    bob.until_event("connection", state="connected")
    piped = run(tmp_path, "send", "lobby", "-", *_ann(port), stdin=b"from a file\nin two lines\n")
    assert piped.returncode == 0, piped.stderr
    bob.until_texts("from a file\nin two lines")


def test_send_makes_several_messages_of_what_is_too_long_for_one(start: Start, tmp_path: Path, port: int) -> None:
    bob = start("bob", "--linger", "forever")
    bob.until_event("connection", state="connected")
    long = run(tmp_path, "send", "lobby", "-", *_ann(port), stdin=b"many a line\n" * 5000)
    assert (long.returncode, len(long.stdout.splitlines())) == (0, 2), long.stderr
    bob.until(lambda lines: len(bob.texts(lines)) == 2, "not in two parts")
    assert "\n".join(bob.texts()) == "\n".join(["many a line"] * 5000)


@pytest.mark.parametrize("wrong", [b"", b"\n", b"\xff"], ids=["nothing", "no text", "not UTF-8"])
def test_send_refuses_standard_input_without_text(tmp_path: Path, port: int, wrong: bytes) -> None:
    assert run(tmp_path, "send", "lobby", "-", *_ann(port), stdin=wrong).returncode == 2


def _ann(port: int) -> tuple[str, ...]:
    return ("--name", "ann", "--timing", "demo", "--set", f"embedded.port={port}")


def test_pipe_says_that_there_is_no_room_for_its_output(tmp_path: Path, port: int) -> None:
    done = run_with_full_disk(tmp_path, "pipe", "lobby", "--linger", "forever", *_ann(port))
    assert done.returncode == 1
    assert done.stderr.endswith("sdschat: the output cannot be written: No space left on device.\n")


def test_pipe_fails_where_its_reader_goes_before_the_input_is_read(tmp_path: Path, port: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("pipe", "lobby", *_ann(port)),
        cwd=tmp_path,
        env=environment(tmp_path),
        input="a line\n",
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 1
    assert "0 lines of it were taken. Send the others again." in done.stderr


def test_a_state_that_is_not_reached_in_time(tmp_path: Path, port: int) -> None:
    done = run(
        tmp_path,
        "send",
        "lobby",
        "anybody?",
        "--wait",
        "acked",
        "--timeout",
        "4s",
        "--name",
        "ann",
        "--set",
        f"embedded.port={port}",
    )
    assert done.returncode == 6
    assert len(done.stdout.strip()) == 64
    hosting, nobody, closed, reason = done.stderr.splitlines()
    assert "hosted by this process" in hosting
    assert "not hosted any more" in closed
    assert nobody.startswith("nobody is in lobby now")
    assert "was not acked within 4 s" in reason


def test_a_profile_is_for_one_process(start: Start, tmp_path: Path, port: int) -> None:
    ann = start("ann")
    ann.until_event("joined")
    done = run(tmp_path, "send", "lobby", "me too", "--name", "ann", "--set", f"embedded.port={port}")
    assert done.returncode == 5
    assert f"process {ann.process.pid}" in done.stderr
    assert done.stdout == ""


def test_a_broker_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound and not listening, so that no other process can take the port
        taken.bind(("127.0.0.1", 0))
        url = f"mqtt://127.0.0.1:{taken.getsockname()[1]}"
        for arguments in (("send", "lobby", "hello"), ("pipe", "lobby"), ("doctor",)):
            done = run(tmp_path, *arguments, "--name", "ann", "--broker", url)
            assert done.returncode == 3, done.stderr
            assert "Nothing listens at 127.0.0.1" in done.stderr + done.stdout


def test_a_broker_that_does_not_answer(tmp_path: Path) -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"mqtt://127.0.0.1:{mute.getsockname()[1]}"
        done = run(tmp_path, "send", "lobby", "hello", "--name", "ann", "--broker", url, "--timeout", "500ms")
        assert done.returncode == 3
        assert done.stdout == ""
        waiting = Pipe(tmp_path, "lobby", "--name", "ann", "--broker", url)
        waiting.until_event("connection", state="connecting")
        assert waiting.kill(signal.SIGINT) == 130


def test_a_line_that_cannot_be_sent_does_not_stop_the_others(start: Start) -> None:
    ann = start("ann", "--linger", "1s")
    ann.until_event("connection", state="connected")
    assert ann.process.stdin is not None
    ann.process.stdin.write(b"\xff\xfe\nfine\n" + b"x" * 70_000 + b"\nalso fine\n\n")
    ann.process.stdin.flush()
    ann.until_texts("fine", "also fine")
    assert ann.end() == 2
    assert sum("a line was not sent" in line for line in ann.said) == 2


def test_a_broker_for_all_names_addresses_that_others_can_use(tmp_path: Path, port: int) -> None:
    served = subprocess.Popen(
        command("broker", "--listen", f"0.0.0.0:{port}"),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert served.stdout is not None
        places = [f"mqtt://{host}:{port}" for host in own_addresses()] or [f"mqtt://0.0.0.0:{port}"]
        assert [served.stdout.readline() for _ in places] == [f"listening at {place}\n" for place in places]
        told = [served.stdout.readline() for _ in range(2)]
        assert told == ["others type:\n", f"  sdschat join CHANNEL --broker {places[0]}\n"]
        sent = run(tmp_path, "send", "lobby", "hello", "--name", "ann", "--broker", places[0])
        assert sent.returncode == 0, sent.stderr
    finally:
        served.terminate()
        served.communicate()


def test_the_broker_alone_with_a_user(tmp_path: Path, port: int) -> None:
    secret = tmp_path / "secret"
    secret.write_text("open sesame\n")
    secret.chmod(0o600)
    served = subprocess.Popen(
        command("broker", "--listen", f"127.0.0.1:{port}", "--user", "team", "--password-file", str(secret)),
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
    )
    try:
        assert served.stdout is not None
        assert served.stdout.readline() == f"listening at mqtt://127.0.0.1:{port}\n".encode()
        url = f"mqtt://team@127.0.0.1:{port}"
        sent = ("send", "lobby", "hello", "--name", "ann", "--broker", url)
        right, wrong = {"SDSCHAT_BROKER_PASSWORD": "open sesame"}, {"SDSCHAT_BROKER_PASSWORD": "open barley"}
        assert run(tmp_path, *sent, env=right).returncode == 0
        refused = run(tmp_path, *sent, env=wrong)
        assert refused.returncode == 4, refused.stderr  # though rumqttd hangs up without a word
        assert "refuse the user or password" in refused.stderr
        nobody = run(tmp_path, "doctor", "--name", "ann", "--broker", f"mqtt://127.0.0.1:{port}")
        assert nobody.returncode == 3, nobody.stdout
        assert "It wants a user and password" in nobody.stdout
        assert "barley" not in refused.stderr
        healthy = run(tmp_path, "doctor", "--name", "ann", "--broker", url, env=right)
        assert healthy.returncode == 0, healthy.stdout
        assert "written and read back" in healthy.stdout
        taken = run(tmp_path, "broker", "--listen", f"127.0.0.1:{port}")
        assert taken.returncode == 2
        assert "is taken" in taken.stderr
    finally:
        served.send_signal(signal.SIGTERM)
        assert served.wait(30) == 143
        if served.stdout is not None:
            served.stdout.close()


def test_doctor_reads_back_what_it_writes_through_a_broker_that_keeps_own_packets_away(tmp_path: Path) -> None:
    def story(home: Path, url: str) -> None:
        healthy = run(home, "doctor", "--name", "ann", "--broker", url)
        assert healthy.returncode == 0, healthy.stdout
        assert "written and read back" in healthy.stdout

    beside_mosquitto(tmp_path, story)


def test_a_broker_that_refuses_a_user_ends_with_4(tmp_path: Path, port: int) -> None:
    program = needs_program("mosquitto")
    config = tmp_path / "mosquitto.conf"
    config.write_text(f"listener {port} 127.0.0.1\nallow_anonymous false\n")
    served = subprocess.Popen([program, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert served.stderr is not None
        while b"running" not in served.stderr.readline():
            assert served.poll() is None
        done = run(tmp_path, "send", "lobby", "hello", "--name", "ann", "--broker", f"mqtt://127.0.0.1:{port}")
        assert done.returncode == 4, done.stderr
        assert done.stderr.count("\n") == 1
    finally:
        served.kill()
        served.wait(30)
        if served.stderr is not None:
            served.stderr.close()


def test_a_damaged_database_ends_with_5(tmp_path: Path) -> None:
    path = tmp_path / "data" / "sdschat" / "profiles" / "ann" / "sdschat.db"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database at all, and longer than a header of SQLite would be" * 20)
    for arguments in (("send", "lobby", "hello"), ("log", "lobby"), ("doctor",)):
        done = run(tmp_path, *arguments, "--name", "ann", "--set", "embedded.port=1")
        assert done.returncode == 5, done.stderr
        assert "is damaged" in done.stderr + done.stdout


def test_a_program_fetches_what_was_kept_as_ids(start: Start) -> None:
    ann = start("ann")
    ann.until_event("connection", state="connected")
    few = ("--set", "trust.messages_at_once=2", "--set", "trust.messages_per_minute=2")
    bob = start("bob", "--json-input", "--linger", "forever", *few)
    together([ann, bob])
    ann.say("one", "two", "three", "four")
    bob.until_event("over_limit", messages=2)
    bob.say('{"show": "nobody"}', '{"show": "ann"}')
    bob.until_event("bodies_fetched", fetched=2, left=0)
    bob.until_texts("one", "two", "three", "four")
    bob.until_event("input_refused", line=1)
