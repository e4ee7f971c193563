"""Channels that give nothing older to those who join, in real processes."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

from sdschat.store.store import Store
from tests.cli.processes import Pipe, run
from tests.transport.worlds import beside_mosquitto
from tests.wire.samples import CODEC

NOBODY = "no other member answered"


def create(home: Path, broker: str) -> tuple[str, ...]:
    """Make the channel garden of ann, and return the options for its broker."""
    where = ("--broker", broker, "--timing", "demo")
    made = run(home, "create", "garden", "--private", "--history", "since-join", "--name", "ann", *where)
    assert made.returncode == 0, made.stderr
    return where


def test_an_invite_is_of_use_though_another_member_invited_while_we_were_away(tmp_path: Path) -> None:
    beside_mosquitto(tmp_path, _invites)


def _invites(home: Path, broker: str) -> None:
    where = create(home, broker)

    def invite(name: str) -> tuple[str, str]:
        done = run(home, "invite", "garden", "--name", name, *where)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    with contextlib.ExitStack() as stack:

        def pipe(channel: str, name: str) -> Pipe:
            started = Pipe(home, channel, "--name", name, "--linger", "forever", *where)
            stack.callback(started.kill, signal.SIGKILL)
            started.until_event("connection", state="connected")
            return started

        link, words = invite("ann")
        assert NOBODY not in words
        ann, bob = pipe("garden", "ann"), pipe(link, "bob")
        ann.until_event("members_changed")
        bob.until_event("members_changed")
        ann.kill(signal.SIGTERM)
        bob.kill(signal.SIGTERM)
        link, words = invite("bob")
        assert NOBODY in words
        bob = pipe("garden", "bob")
        link, words = invite("ann")
        assert NOBODY not in words
        carol = pipe(link, "carol")
        carol.until_event("members_changed")
        carol.say("I am carol")
        bob.until(lambda lines: "I am carol" in bob.texts(lines), "bob heard nothing of carol")


def test_a_store_is_refused_also_by_the_name_of_the_channel(tmp_path: Path) -> None:
    beside_mosquitto(tmp_path, _store)


def _store(home: Path, broker: str) -> None:
    where = create(home, broker)
    refused = run(home, "store", "garden", "--name", "ann", *where)
    assert refused.returncode == 2
    assert "nothing for a Store" in refused.stderr


def test_an_invite_of_an_open_chat_names_the_command_in_it(tmp_path: Path) -> None:
    beside_mosquitto(tmp_path, _in_use)


def _in_use(home: Path, broker: str) -> None:
    where = create(home, broker)
    with Store.open(home / "data" / "sdschat" / "profiles" / "ann" / "sdschat.db", CODEC):
        done = run(home, "invite", "garden", "--name", "ann", *where)
    assert done.returncode == 5
    assert done.stderr.rstrip().endswith("If that is a chat, type /invite in it")
