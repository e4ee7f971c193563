"""The log of a members' channel, kept up with the engine: the same as one that is made anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

import pytest

from sdschat.node.members.events import MemberPost
from sdschat.node.members.post_log import PostLog, waiting_posts
from sdschat.timber.engine import TimberEngine
from sdschat.timber.events import StateAdopted
from sdschat.timber.values import message_id_of, sender_of
from sdschat.timber.views import MemberStanding, PostView
from tests.timber.group import Group, Node

THREE = ("ann", "bob", "cas")


class _Reading:
    """The log of one engine, and how many posts were made of views."""

    def __init__(self, engine: TimberEngine, drafts: Callable[[], Iterable[MemberPost]] = list) -> None:
        self.engine = engine
        self.shown = 0
        self.log = PostLog(engine, self._show, drafts)

    def _show(self, view: PostView) -> MemberPost:
        self.shown += 1
        post = view.post
        sender = sender_of(self.engine.person(post.name.author))
        message_id = message_id_of(self.engine.data_set, post.name)
        return MemberPost(message_id, sender, "", post.text, post.time, bool(post.edit), view.settled, own=False)

    def expected(self) -> list[MemberPost]:
        return [self._show(view) for view in self.engine.posts()]


class _Read(Group):
    """A group whose logs are kept up."""

    def __init__(self) -> None:
        self.readings: dict[str, _Reading] = {}
        super().__init__(*THREE)
        self.readings = {name: _Reading(node.engine) for name, node in self.nodes.items()}

    def carry(self, node: Node) -> None:
        before = len(node.reports)
        super().carry(node)
        if node.name in self.readings:
            log = self.readings[node.name].log
            log.touch()
            for report in node.reports[before:]:
                log.follow(report)


def _random_events(group: _Read, rng: random.Random, count: int) -> None:
    for _ in range(count):
        name = rng.choice(THREE)
        engine = group[name].engine
        own = [view.post.name for view in engine.posts() if view.post.name.author == engine.me]
        chance = rng.random()
        if chance < 0.5 or not own:
            engine.say(f"post {rng.random()}", group.now)
        elif chance < 0.7:
            engine.edit(rng.choice(own), "changed", group.now)
        else:
            engine.delete(rng.choice(own), group.now)
        group.carry(group[name])
        _check(group.readings[name])
        if rng.random() < 0.4:
            group.settle(300)


def _check(reading: _Reading) -> None:
    log, expected = reading.log, reading.expected()
    found = list(log.after((0, "")))
    assert [placed.post for placed in found] == expected
    assert [placed.post for placed in log.before(None)] == expected[::-1]
    assert len(log) == len(expected)
    assert [placed.key for placed in found] == sorted({placed.key for placed in found})
    for rank, placed in enumerate(found, 1):
        assert log.get(placed.post.message_id) == placed
        assert log.rank(placed.post.message_id) == rank
        assert log.at_rank(rank) == placed.key
    assert log.at_rank(len(found) + 1) is None
    waiting = sorted(placed.key for placed in found if not placed.post.settled)
    assert sorted(placed.key for placed in log.waiting()) == waiting


@pytest.mark.parametrize("seed", range(4))
def test_a_log_that_is_kept_up_is_that_of_the_engine(seed: int) -> None:
    group = _Read()
    _random_events(group, random.Random(seed), 40)
    group.settle()
    for reading in group.readings.values():
        _check(reading)
        assert list(reading.log.after((0, ""))) != []


@pytest.mark.parametrize("seed", range(4))
def test_a_log_of_a_program_that_starts_again_is_that_of_the_engine(seed: int) -> None:
    """Texts are read from the disk when they are asked for, while posts are written, changed and deleted."""
    group, rng = _Read(), random.Random(seed)
    _random_events(group, rng, 30)
    group.settle()
    node, before = group["bob"], group.readings["bob"]
    found = [placed.post.message_id for placed in before.log.after((0, ""))]
    reading = group.readings["bob"] = _Reading(node.boot(group.now))
    assert [placed.post.message_id for placed in reading.log.after((0, ""))] == found
    _check(reading)
    _random_events(group, rng, 30)
    group.settle()
    assert len(reading.log) > 0
    _check(reading)


def test_a_start_reads_no_text_and_makes_no_id() -> None:
    group = _Read()
    for number in range(60):
        group["ann"].engine.say(f"post {number}", group.now)
    group.carry(group["ann"])
    group.settle()
    reading = _Reading(group["bob"].boot(group.now))
    assert (len(reading.log), reading.shown) == (60, 0)
    assert next(reading.log.before(None)).post.text.startswith("post ")
    assert reading.shown == 1


def test_reading_after_a_new_post_costs_what_is_new() -> None:
    group = _Read()
    for number in range(60):
        group["ann"].engine.say(f"post {number}", group.now)
    group.carry(group["ann"])
    group.settle()
    reading = group.readings["bob"]
    reading.shown = 0
    group.say("bob", "one more")
    newest = next(reading.log.before(None))
    assert newest.post.text == "one more"
    assert len(reading.log) == 61
    assert reading.shown < 10


def test_what_is_settled_in_the_turn_in_which_a_state_comes_stands_once_in_the_log() -> None:
    """A state, and operations after it, may come before what follows from them is told."""
    group = Group(*THREE, members=False)
    group["ann"].engine.invite(group["bob"].key, group.now)
    group.carry(group["ann"])
    group.settle()
    group.say("ann", "one", "two", "three")
    reading, told = _Reading(group["cas"].engine), len(group["cas"].reports)
    group["ann"].engine.invite(group["cas"].key, group.now)
    group.carry(group["ann"])
    group.say("bob", "four", "five")
    group.settle()
    reports = group["cas"].reports[told:]
    assert any(isinstance(report, StateAdopted) for report in reports)
    for report in reports:
        reading.log.follow(report)
    _check(reading)


def test_what_waited_for_an_admission_stands_once_in_the_log() -> None:
    """Whoever left and is invited again has the log, so no state comes that would make it anew."""
    group = Group(*THREE)
    bob = group["bob"]
    bob.engine.leave(group.now)
    group.carry(bob)
    group.settle()
    engine, told = bob.engine, len(bob.reports)
    reading = _Reading(engine, lambda: waiting_posts(engine.drafts(), engine.data_set, "00", "bob"))
    group["cas"].up = False
    group["ann"].engine.invite(bob.key, group.now)
    group.carry(group["ann"])
    group.settle(1000)
    assert engine.standing() is MemberStanding.INVITED
    assert engine.say("back again", group.now) is None
    group.carry(bob)
    reading.log.touch()
    assert _waiting(reading) == [("back again", True)]
    group["cas"].up = True
    group.settle()
    reports = bob.reports[told:]
    assert not any(isinstance(report, StateAdopted) for report in reports)
    for report in reports:
        reading.log.follow(report)
    assert _waiting(reading) == [("back again", False)]


def _waiting(reading: _Reading) -> list[tuple[str, bool]]:
    return [(placed.post.text, placed.post.waiting) for placed in reading.log.after((0, ""))]
