"""A broker that lies: `python -m tests.attacks.lying_broker [--private] [--size 20]`."""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from sdschat.identity.packets import channel_level
from sdschat.identity.private.link import genesis_digest, read_link
from tests.attacks.attacker import LOOPBACK, now
from tests.attacks.liar import LyingBroker, Withhold
from tests.attacks.stage import Stage, main
from tests.cli.processes import Line, Pipe

_LOBBY, _ATTIC = "lobby", "attic"
_MEMBERS = {"ann": _LOBBY, "bob": _LOBBY, "carol": _LOBBY, "dora": _ATTIC}
_LOBBY_MAKER, _ATTIC_MAKER = "ann", "dora"
_WITHHELD = "this is not for ann"
_SIGNED = ("known", "new")
# What others say after the hidden message is shown without it once that one is given up.
_LOST_SOON = ("--set", "repair.t_min=1s", "--set", "repair.t_max=3s", "--set", "sds.lost_after=5s")
_HONEST = 60.0  # seconds that the others have to agree once nothing is hidden from them any more
_PACE = 0.15

Place = tuple[int, str, str]  # Lamport time, message id, dependencies


class _Member(NamedTuple):
    channel: str  # as `pipe` takes it: a name or a link
    level: str  # of topics: it stands for the channel


def lying_broker(stage: Stage, size: int) -> bool:
    """A broker that drops, delays, reorders, repeats, alters, swaps channels, forges presence, and hides one message.

    Defended if nothing is shown that was not said, in its place, by its author; if ann, from whom a message of carol's
    is hidden, is told which one is missing; and if the others agree once they hear everything.
    """
    members = {name: _Member(channel, channel) for name, channel in _MEMBERS.items()}
    pipes, agreed = _play(
        stage, size, members, _hidden_from_ann, lambda pipes: _agree(stage, "bob", "carol") and _gap(pipes)
    )
    stage.saw("ann knows that carol's message is missing", bool(_gap(pipes)))
    return _judge(stage, pipes) and agreed


def lying_broker_private(stage: Stage, size: int) -> bool:
    """A broker that tells the same lies about private channels, and hides from ann whatever carol sends.

    The broker cannot read, so it can hide a sender and no message. Defended if nothing is shown that was not said, and
    if ann, bob and carol agree: ann hears from bob what carol said.
    """
    members = {}
    for name, channel in _MEMBERS.items():
        if name in (_LOBBY_MAKER, _ATTIC_MAKER):
            link = stage.private(channel, name)
            level = channel_level(genesis_digest(read_link(link, now()).genesis))
            members[name] = _Member(channel, level)
        else:
            members[name] = _Member(link, level)
    pipes, agreed = _play(stage, size, members, _carol_from_ann, lambda _: _agree(stage, "ann", "bob", "carol"))
    return _judge(stage, pipes) and agreed


def _play(
    stage: Stage, size: int, members: dict[str, _Member], withhold: Withhold, ends: Callable[[dict[str, Pipe]], bool]
) -> tuple[dict[str, Pipe], bool]:
    """Have all members talk through the liar. Return them, and True if they came to an end as they should."""
    ports = {name: stage.broker() for name in members}
    liar = LyingBroker(ports, {name: member.level for name, member in members.items()}, size, withhold)
    pipes = {}
    try:
        for name, member in members.items():
            own = ("--broker", f"mqtt://{LOOPBACK}:{ports[name]}")
            pipes[name] = stage.pipe(name, *_LOST_SOON, *own, channel=member.channel)
        for number in range(size):
            for name, pipe in pipes.items():
                pipe.say(f"{name} {number}")
                time.sleep(_PACE)
            if number == size // 2:
                pipes["carol"].say(_WITHHELD)
        liar.honest = True
        agreed = _until(lambda: ends(pipes), _HONEST)
    finally:
        liar.close()
    stage.saw("lies told", liar.lies)
    stage.saw("packets withheld from ann", liar.withheld)
    stage.saw("agreed in the end", agreed)
    return pipes, agreed


def _judge(stage: Stage, pipes: dict[str, Pipe]) -> bool:
    """True if nothing false is shown."""
    false = {
        "shown as somebody's, and not said by them, there, in this way": _not_said(pipes),
        "messages that stand in two places": _moved(stage),
        "people shown who are none of the members": _ghosts(pipes),
        "acknowledged by somebody who does not have it": _false_acks(stage, pipes),
    }
    for what, figure in false.items():
        stage.saw(what, figure)
    return not any(false.values())


def _hidden_from_ann(_author: str, member: str, payload: bytes) -> bool:
    return member == "ann" and _WITHHELD.encode() in payload


def _carol_from_ann(author: str, member: str, _payload: bytes) -> bool:
    return (author, member) == ("carol", "ann")


def _agree(stage: Stage, *names: str) -> bool:
    return len({_log(stage, name) for name in names}) == 1


def _delivered(pipe: Pipe) -> list[Line]:
    return [line["message"] for line in list(pipe.lines) if line["event"] == "delivered"]


def _said(pipes: dict[str, Pipe]) -> dict[str, dict[str, tuple[object, ...]]]:
    """Return what each channel's members said: id to author, nick, Lamport time and text."""
    said: dict[str, dict[str, tuple[object, ...]]] = {channel: {} for channel in _MEMBERS.values()}
    for name, pipe in pipes.items():
        for message in _delivered(pipe):
            if message["own"]:
                said[_MEMBERS[name]][message["message_id"]] = _facts(message)
    return said


def _facts(message: Line) -> tuple[object, ...]:
    return message["sender_id"], message["nick"], message["lamport"], message.get("text")


def _not_said(pipes: dict[str, Pipe]) -> int:
    said = _said(pipes)
    return sum(
        said[_MEMBERS[name]].get(message["message_id"]) != _facts(message)
        for name, pipe in pipes.items()
        for message in _delivered(pipe)
        if message["verdict"] in _SIGNED
    )


def _rows(database: Path) -> list[Place]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return connection.execute(
            "SELECT lamport, log.message_id, dependencies FROM log JOIN text USING (place) "
            "WHERE verdict IN ('known', 'new') ORDER BY lamport, log.message_id"
        ).fetchall()


def _log(stage: Stage, name: str) -> tuple[Place, ...]:
    return tuple(_rows(stage.database(name)))


def _moved(stage: Stage) -> int:
    places: dict[str, set[Place]] = {}
    for name in _MEMBERS:
        for row in _log(stage, name):
            places.setdefault(row[1], set()).add(row)
    return sum(len(found) > 1 for found in places.values())


def _ghosts(pipes: dict[str, Pipe]) -> int:
    """Count those who were shown as here, and are no members of that channel or go by another nick."""
    people = {channel: {facts[0]: facts[1] for facts in found.values()} for channel, found in _said(pipes).items()}
    return sum(
        line["event"] == "presence"
        and line["online"]
        and line["nick"] not in ("", people[_MEMBERS[name]].get(line["sender_id"]))
        for name, pipe in pipes.items()
        for line in list(pipe.lines)
    )


def _false_acks(stage: Stage, pipes: dict[str, Pipe]) -> int:
    has = {}
    for name, pipe in pipes.items():
        own = next(message["sender_id"] for message in _delivered(pipe) if message["own"])
        has[own] = {row[1] for row in _log(stage, name)}
    return sum(
        line["message_id"] not in has.get(witness, set())
        for pipe in pipes.values()
        for line in list(pipe.lines)
        if line["event"] == "state"
        for witness in line["by"]
    )


def _gap(pipes: dict[str, Pipe]) -> bool:
    """True if ann was told that this message of carol's is missing, by the number that carol gave it."""
    hidden = next((m["message_id"] for m in _delivered(pipes["carol"]) if m.get("text") == _WITHHELD), "")
    return any(line["event"] == "author_gap" and line["message_id"] == hidden for line in list(pipes["ann"].lines))


def _until(condition: object, patience: float) -> bool:
    assert callable(condition)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.5)
    return False


if __name__ == "__main__":
    private = "--private" in sys.argv[1:]
    if private:
        sys.argv.remove("--private")
    main(lying_broker_private if private else lying_broker, 20, "lines of each member")
