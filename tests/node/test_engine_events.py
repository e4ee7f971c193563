"""Events of a members' channel, from the reports of one engine: each change is told once."""

from __future__ import annotations

import random

import pytest

from sdschat.node.members.engine_events import EngineEvents
from sdschat.node.members.events import (
    CheckpointPassed,
    DeliveryChanged,
    MemberStatusChanged,
    PostDeleted,
    PostEdited,
    PostSaid,
    StateTaken,
)
from sdschat.timber.events import CheckpointMoved, MemberChanged, StateAdopted
from sdschat.timber.states import state_for
from sdschat.timber.values import CheckpointMark, Kind, StatePage, Sync, sender_of
from tests.timber.group import Group, Node
from tests.timber.test_cost import calls
from tests.timber.test_front import two_of_one_number
from tests.timber.world import CODEC


def _told(node: Node) -> EngineEvents:
    return EngineEvents(node.engine, lambda sender: "", sender_of(node.id))


def test_a_newcomer_is_told_once_that_it_is_a_member_and_that_nobody_went_on_without_it() -> None:
    """The state that it takes has its admission already."""
    group = Group("ann", "bob", "cas", rounds=8, heartbeat=30_000, stagger=2_000, retry=10_000, sync_interval=20_000)
    group.nodes["dan"] = dan = Node("dan", 9)
    group.by_id[dan.id] = dan
    group.settle(60_000)
    dan.engine.join(group.data_set, [group[name].id for name in ("ann", "bob", "cas")], group.now)
    group.carry(dan)
    told = _told(dan)
    group.say("bob", "one", "two")
    group.settle(2_000)
    group["ann"].engine.invite(dan.key, group.now)
    group.carry(group["ann"])
    group.settle(80_000)
    assert dan.heard(StateAdopted)
    events = list(told.events(dan.reports))
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(dan.id)]
    assert own == ["member"]
    assert [one.returned for one in events if isinstance(one, StateTaken)] == [False]


def test_a_newcomer_that_was_put_out_before_it_had_a_state_is_told() -> None:
    group = Group("ann", "bob", "cas")
    group.nodes["dan"] = dan = Node("dan", 9)
    group.by_id[dan.id] = dan
    dan.up = False
    group.settle(10_000)
    group["ann"].engine.invite(dan.key, group.now)
    group.carry(group["ann"])
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
        group.settle(10_000)
    assert group["ann"].engine.put_out(dan.id)
    dan.up = True
    told = _told(dan)
    dan.engine.join(group.data_set, [group[name].id for name in ("ann", "bob", "cas")], group.now)
    group.carry(dan)
    group.settle(60_000)
    events = list(told.events(dan.reports))
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(dan.id)]
    assert own == ["evicted"]


def test_whoever_was_put_out_is_told_that_the_others_went_on() -> None:
    group = Group("ann", "bob", "cas")
    cas = group["cas"]
    group.say("cas", "one")
    group.settle(10_000)
    told = _told(cas)
    before = len(cas.reports)
    cas.up = False
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
    group.settle(60_000)
    cas.up = True
    group.settle(60_000)
    events = list(told.events(cas.reports[before:]))
    taken = [one.returned for one in events if isinstance(one, StateTaken)]
    assert taken == [True]
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(cas.id)]
    assert own == ["evicted"]


def test_whoever_was_told_to_be_put_out_is_not_told_again_by_a_state_that_says_so() -> None:
    group = Group("ann", "bob", "cas")
    cas = group["cas"]
    group.settle(10_000)
    told = _told(cas)
    before = len(cas.reports)
    cas.up = False
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
    group.settle(60_000)
    cas.up = True
    group.settle(60_000)
    assert cas.heard(StateAdopted)
    removed = MemberChanged(2, cas.id, "removed")
    events = [*told.events([removed]), *told.events(cas.reports[before:])]
    own = [one.status for one in events if isinstance(one, MemberStatusChanged) and one.sender_id == sender_of(cas.id)]
    assert own == ["evicted"]


def test_the_checkpoint_is_told_with_the_last_operation_of_its_place() -> None:
    """In one step it may move several times."""
    group = Group("ann", "bob")
    told = _told(group["ann"])
    group["ann"].reports.clear()
    group.say("bob", "one", "two", "three")
    group.settle()
    engine = group["ann"].engine
    assert sum(isinstance(report, CheckpointMoved) for report in group["ann"].reports) > 1
    moved = [event for event in told.events(group["ann"].reports) if isinstance(event, CheckpointPassed)]
    assert [(one.number, one.last) for one in moved] == [(engine.checkpoint.number, engine.last_settled().hex())]


def _follow(told: EngineEvents, node: Node, before: int, shown: dict[str, str]) -> None:
    """Carry out what is told of the reports since `before`, on texts by message id."""
    for event in told.events(node.reports[before:]):
        match event:
            case PostSaid(post, _, _):
                shown[post.message_id] = post.text
            case PostEdited(message_id, text, _):
                shown[message_id] = text
            case PostDeleted(message_id, _, _, _):
                del shown[message_id]


@pytest.mark.parametrize("edited", [False, True])
def test_another_text_under_one_name_is_told_where_it_comes_with_a_state(edited: bool) -> None:
    """A member lies to whoever was away, or an edit was lost: the log showed the new text, and no event told of it."""
    group = Group("ann", "bob", "cas")
    group.say("bob", "first", "second")
    group.settle()
    if edited:
        name = next(view.post.name for view in group["bob"].engine.posts() if view.post.text == "first")
        group["bob"].engine.edit(name, "edited", group.now)
        group.carry(group["bob"])
        group.settle()
    cas, told = group["cas"], _told(group["cas"])
    shown = {told.message_id(view.post.name): view.post.text for view in cas.engine.posts()}
    group.sides = {"cas": 1}
    for number in range(12):
        group.say("ann", f"{number}")
        group.say("bob", f"{number}")
    core = group["ann"].engine._core
    core.compact()
    state = state_for(core.replica, cas.id)
    assert state is not None
    posts = tuple(post if post.text.isdigit() else post._replace(edit=0, text="another") for post in state.posts)
    group.deliver("cas", Sync(state.mark, ((0, 1),), bytes(32), ()), "ann")
    before = len(cas.reports)
    page = StatePage(state.mark, 0, 1, CODEC.encode_state(state._replace(posts=posts)))
    group.deliver("cas", page, "ann")
    assert any(isinstance(report, StateAdopted) for report in cas.reports[before:]), cas.reports[before:]
    _follow(told, cas, before, shown)
    assert sorted(shown.values()) == sorted(cas.texts())


@pytest.mark.parametrize("first", [Kind.SAY, Kind.EDIT, Kind.DELETE])
@pytest.mark.parametrize("second", [Kind.SAY, Kind.EDIT, Kind.DELETE])
@pytest.mark.parametrize("swapped", [False, True])
def test_events_that_are_told_lead_to_the_posts_that_are_shown_where_two_have_one_number(
    first: Kind, second: Kind, swapped: bool
) -> None:
    group = Group("ann", "bob", "cas")
    group.say("cas", "post")
    group.settle(60_000)
    ann, told, before = group["ann"], _told(group["ann"]), len(group["ann"].reports)
    shown = {told.message_id(view.post.name): view.post.text for view in ann.engine.posts()}
    one, other = two_of_one_number(group, first, second, number=2)
    for operation in (other, one) if swapped else (one, other):
        ann.texts()
        group.deliver("ann", Sync(CheckpointMark(0, b""), (), bytes(32), (operation,)), "bob")
        _follow(told, ann, before, shown)
        before = len(ann.reports)
        assert sorted(shown.values()) == sorted(ann.texts())


class _Following(Group):
    """A group in which each node is told what becomes of its events."""

    def __init__(self, *names: str) -> None:
        self.told: dict[str, EngineEvents] = {}
        self.words: dict[str, dict[str, tuple[str, int, int]]] = {}
        super().__init__(*names)
        self.told = {name: _told(node) for name, node in self.nodes.items()}
        self.words = {name: {} for name in names}

    def carry(self, node: Node) -> None:
        before = len(node.reports)
        super().carry(node)
        if node.name in self.told:
            for event in self.told[node.name].events(node.reports[before:]):
                if isinstance(event, DeliveryChanged):
                    self.words[node.name][event.message_id] = (event.state, event.known, event.members)
            self.check(node)

    def check(self, node: Node) -> None:
        told, words = self.told[node.name], self.words[node.name]
        for name in node.engine.open_events():
            found = node.engine.delivery(name)
            assert words[told.message_id(name)] == (found.word, found.known, found.members)

    def change(self, rng: random.Random) -> None:
        node = rng.choice(list(self.nodes.values()))
        own = [view.post.name for view in node.engine.posts() if view.post.name.author == node.engine.me]
        told = self.told[node.name]
        if rng.random() < 0.6 or not own:
            name, post = node.engine.say(f"post {rng.random()}", self.now), None
        else:
            post = rng.choice(own)
            name = node.engine.edit(post, "changed", self.now)
        if name is not None:
            told.made(name, post)
        self.carry(node)


@pytest.mark.parametrize("seed", range(4))
def test_each_change_of_a_delivery_is_told(seed: int) -> None:
    """Not every event is looked at after each step. One of the members is away for a while, and is removed."""
    rng = random.Random(seed)
    group = _Following("ann", "bob", "cas", "dan")
    for step in range(50):
        group["dan"].up = not 15 <= step < 40
        group.change(rng)
        if rng.random() < 0.5:
            group.settle(rng.choice([300, 3000]))
    group.settle(60_000)
    assert not any(group[name].engine.open_events() for name in ("ann", "bob", "cas"))


def test_one_more_post_costs_the_same_however_many_are_not_settled() -> None:
    """Its way: said, written, told, and read in the log."""
    group = Group("ann", "bob", "cas", rounds=1000)
    group["bob"].up = group["cas"].up = False
    ann = group["ann"]
    told = _told(ann)

    def say() -> None:
        name = ann.engine.say("a post", group.now)
        assert name is not None
        told.made(name)
        before = len(ann.reports)
        group.carry(ann)
        list(told.events(ann.reports[before:]))
        placed = told.log.get(told.message_id(name))
        assert placed is not None
        assert next(told.log.before(None)) == placed

    def cost_behind(more: int) -> int:
        for _ in range(more):
            say()
            group.time += 10_000
        return min(calls(say) for _ in range(3))

    few = cost_behind(30)
    assert cost_behind(500) <= 2 * few
    assert len(ann.engine.open_events()) > 500
