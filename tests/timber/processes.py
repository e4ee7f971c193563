"""Three real processes in a members' channel, on the embedded broker: `python -m tests.timber.processes`.

First they make the channel, knock, are let in, chat, edit and delete, and the deleted words are searched for in all
files of all profiles. Then one is stopped with SIGSTOP: the others put it out and go on; continued, it is told, is let
in again, and what it had not sent is written again. `tests/timber/test_processes.py` runs it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECRET = "wombat"
EDITED = "quokka"
_ROOT = Path(__file__).parents[2]
_PATIENCE = 60.0
_TIMERS = ("heartbeat=200ms", "stagger=50ms", "retry=400ms", "sync_interval=400ms", "rounds=2")


class Group:
    """Profiles in one folder, and the port of their broker."""

    def __init__(self, folder: Path, timers: tuple[str, ...] = _TIMERS, broker: str = "") -> None:
        self.folder = folder
        self._timers = timers
        self._broker = broker
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.running: list[Pipe] = []

    def command(self, name: str, *words: str) -> list[str]:
        sets = [f"embedded.port={self.port}", *(f"timber.{timer}" for timer in self._timers)]
        options = [part for each in sets for part in ("--set", each)]
        options += ["--broker", self._broker] if self._broker else []
        return [sys.executable, "-m", "sdschat", *words, "--name", name, "--data-dir", str(self.folder), *options]

    def run(self, name: str, *words: str) -> str:
        done = subprocess.run(
            self.command(name, *words), capture_output=True, text=True, timeout=_PATIENCE, env=_environment(self.folder)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def local(self, name: str, *words: str) -> str:
        """Run a command that needs no network."""
        command = [sys.executable, "-m", "sdschat", *words, "--name", name, "--data-dir", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, env=_environment(self.folder))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pipe(self, name: str) -> Pipe:
        found = Pipe(self, name)
        self.running.append(found)
        return found

    def files_with(self, *words: str) -> list[str]:
        """Return the names of all files below the profiles that hold one of the words."""
        found = []
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and any(word.encode() in path.read_bytes() for word in words):
                found.append(str(path.relative_to(self.folder)))
        return found

    def close(self) -> None:
        for pipe in self.running:
            pipe.close()


def _environment(folder: Path) -> dict[str, str]:
    homes = {name: str(folder / "home") for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
    return os.environ | {"PYTHONPATH": str(_ROOT)} | homes


class Pipe:
    """A running `sdschat pipe --json-input`, with the events that it told."""

    def __init__(self, group: Group, name: str) -> None:
        self.name = name
        self.events: list[dict[str, Any]] = []
        self._lines: queue.Queue[str] = queue.Queue()
        command = group.command(name, "pipe", "garden", "--json-input", "--linger", "forever")
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=_environment(group.folder)
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def write(self, **line: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def until(self, event: str, where: Callable[[dict[str, Any]], bool] = lambda _: True, *, start: int = 0) -> Any:
        """Return the first event of this name, from the `start`-th one that was told on. Wait for it."""
        ends = time.monotonic() + _PATIENCE
        at = start
        while True:
            for found in self.events[at:]:
                if found["event"] == event and where(found):
                    return found
            at = len(self.events)
            try:
                self.events.append(json.loads(self._lines.get(timeout=max(0.01, ends - time.monotonic()))))
            except queue.Empty:
                last = "\n".join(map(str, self.events[-12:]))
                raise TimeoutError(f"{self.name} told no {event}. It told last:\n{last}") from None

    def until_about(self, event: str, field: str, value: object) -> Any:
        """Return the first event of this name with this value of a field."""
        return self.until(event, lambda one: bool(one[field] == value))

    def until_text(self, text: str) -> str:
        """Return the id of the post with this text."""
        found = self.until("delivered", lambda one: one["message"]["text"] == text)
        return str(found["message"]["message_id"])

    def seen(self, text: str) -> int:
        return sum(one["event"] == "delivered" and one["message"]["text"] == text for one in self.events)

    @property
    def sender_id(self) -> str:
        return str(self.until("joined")["sender_id"])

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(_PATIENCE)
        self._reader.join(_PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()


def _status(pipe: Pipe, person: str, status: str, start: int = 0) -> None:
    pipe.until("member", lambda one: (one["sender_id"], one["status"]) == (person, status), start=start)


def admit(group: Group) -> tuple[Pipe, Pipe, Pipe]:
    """Make the channel, and let two others in."""
    made = group.run("ann", "create", "garden", "--members").strip()
    ann = group.pipe("ann")
    ann.until("connection", lambda one: one["state"] == "connected")
    bob, cid = group.pipe("bob"), group.pipe("cid")
    for guest in (bob, cid):
        assert guest.until("data_set")["data_set"] == made
        ann.until_about("knock", "sender_id", guest.sender_id)
        _let_in(ann, guest)
        _status(ann, guest.sender_id, "member")
    return ann, bob, cid


def _let_in(host: Pipe, guest: Pipe) -> None:
    """Invite somebody, and once more where a machine that is busy had them put out for silence before they wrote."""
    while True:
        start, host_start = len(guest.events), len(host.events)
        host.write(invite=guest.sender_id)
        told = guest.until(
            "member",
            lambda one: one["sender_id"] == guest.sender_id and one["status"] in ("member", "evicted"),
            start=start,
        )
        if told["status"] == "member":
            return
        _status(host, guest.sender_id, "evicted", host_start)


def chat_and_delete(group: Group, ann: Pipe, bob: Pipe, cid: Pipe) -> dict[str, Any]:
    """Chat, edit and delete; return what was found."""
    ann.write(say=f"the {SECRET} is ours")
    secret = cid.until_text(f"the {SECRET} is ours")
    bob.write(say=f"I saw a {EDITED}")
    edited = ann.until_text(f"I saw a {EDITED}")
    for pipe in (bob, cid):
        pipe.until_text(f"I saw a {EDITED}")
    cid.write(say="good morning", reply_to=edited)
    bob.until_text("good morning")
    before = group.files_with(SECRET, EDITED)
    bob.write(edit=edited, text="I saw nothing")
    ann.write(delete=secret)
    for pipe in (ann, bob, cid):
        pipe.until("edited", lambda one: one["message_id"] == edited)
        pipe.until("deleted", lambda one: one["message_id"] == secret)
    ends = time.monotonic() + _PATIENCE
    while (left := group.files_with(SECRET, EDITED)) and time.monotonic() < ends:
        time.sleep(0.2)
    bob.write(edit=edited[:3] + "zz", text="no such post")
    bob.write(shout="hello")
    refused = [bob.until_about("input_refused", "line", at)["reason"] for at in (3, 4)]
    messages = [json.loads(line)["message"] for line in group.local("cid", "log", "garden", "--json").splitlines()]
    texts = {message["message_id"]: message["text"] for message in messages}
    answers = [(message["text"], texts[message["reply_to"]]) for message in messages if "reply_to" in message]
    return {"before": before, "left": left, "logs": [*texts.values()], "answers": answers, "refused": refused}


def _without_time(line: str) -> str:
    _, _, rest = line.rstrip().split(" ", 2)
    return rest


def look_from_outside(group: Group, bob: Pipe) -> dict[str, Any]:
    """Ask the commands that read a profile while its node runs; return what they printed."""
    command = group.command("ann", "tail", "garden")
    tail = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=_environment(group.folder))
    assert tail.stdout is not None
    ends = threading.Timer(_PATIENCE, tail.kill)
    ends.start()
    with tail, tail.stdout as lines:
        told = [_without_time(lines.readline()) for _ in range(2)]
        bob.write(edit=bob.until_text(f"I saw a {EDITED}"), text="I saw it all")
        told.append(_without_time(lines.readline()))
        tail.kill()
    ends.cancel()
    (listed,) = [json.loads(line) for line in group.local("ann", "channels", "--json").splitlines()]
    checked = [line for line in group.run("ann", "doctor").splitlines() if line.startswith("ok    members")]
    return {"tail": told, "listed": listed, "table": group.local("ann", "channels"), "checked": checked}


def stop_and_continue(group: Group, ann: Pipe, bob: Pipe, cid: Pipe) -> dict[str, Any]:
    """Stop one of three, go on, and let it come back; return what was found."""
    starts = {pipe.name: len(pipe.events) for pipe in (ann, bob, cid)}
    cid.process.send_signal(signal.SIGSTOP)
    unsent = [f"unsent {at}" for at in range(3)]
    for text in unsent:
        cid.write(say=text)
    for at in range(12):
        writer, reader = ((ann, bob), (bob, ann))[at % 2]
        writer.write(say=f"meanwhile {at}")
        reader.until_text(f"meanwhile {at}")
    _status(ann, cid.sender_id, "silent", starts["ann"])
    for pipe in (ann, bob):
        _status(pipe, cid.sender_id, "evicted", starts[pipe.name])
    later = len(ann.events)
    ann.write(say="without cid")
    bob.until_text("without cid")
    ann.until("checkpoint", start=later)
    cid.process.send_signal(signal.SIGCONT)
    _status(cid, cid.sender_id, "evicted", starts["cid"])
    _let_in(ann, cid)
    for pipe in (ann, bob, cid):
        for text in unsent:
            pipe.until_text(text)
    return {"seen": {pipe.name: [pipe.seen(text) for text in unsent] for pipe in (ann, bob, cid)}}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        group = Group(Path(folder))
        try:
            people = admit(group)
            print("three members are in the channel")
            found = chat_and_delete(group, *people)
            print(f"files with the deleted words before: {len(found['before'])}, after the checkpoint: {found['left']}")
            print(f"log of cid: {found['logs']}; refused: {found['refused']}")
            print(stop_and_continue(group, *people))
            print(group.local("bob", "timber", "status", "garden"))
        finally:
            group.close()
        print(f"files with the deleted words at the end: {group.files_with(SECRET, EDITED)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
