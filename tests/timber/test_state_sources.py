"""Sources that give no state, or give it slowly, and old packets that anybody sends again, keep no newcomer out."""

from __future__ import annotations

import pytest

from sdschat.timber import limits, pages
from sdschat.timber.events import StateAdopted
from sdschat.timber.limits import MAX_TEXT_BYTES, PAGE_BYTES
from sdschat.timber.replica import Replica
from sdschat.timber.states import state_at_compaction, state_for
from sdschat.timber.values import CheckpointMark, Message, Now, Packet, Refusal, State, StatePage, StateWanted, Sync
from tests.timber.group import SETTINGS, Group, Node
from tests.timber.world import CODEC

FAR = CheckpointMark(10**6, bytes(32))
CLOCK = Sync(FAR, ((0, 1),), bytes(32), ())


def with_newcomer() -> tuple[Group, Node]:
    """Return a group whose history dora lacks. She may ask ann and the liar, and was let in."""
    group = Group("ann", "liar", "dora", members=False)
    for name in ("liar", "dora"):
        group["ann"].engine.invite(group[name].key, group.now)
        group.carry(group["ann"])
        if name == "liar":
            group.settle(30_000)
    group.say("ann", "hello")
    group.sides = {"dora": 1}
    group.settle(5_000)
    return group, group["dora"]


def let_pass(group: Group, milliseconds: int) -> None:
    """Let dora alone act. What she sends is not carried."""
    dora = group["dora"]
    group.time += milliseconds
    dora.engine.advance(group.now)
    group.carry(dora)


def asked(group: Group, start: int) -> set[str]:
    """Return whom dora asked for a first page."""
    packets = group["dora"].sent[start:]
    return {
        group.by_id[packet.peer].name
        for packet in packets
        if isinstance(packet.message, StateWanted) and not packet.message.page
    }


def start_again(group: Group) -> None:
    dora = group["dora"]
    dora.store.rows.clear()
    dora.boot(group.now)
    dora.engine.join(group.data_set, [group["ann"].id, group["liar"].id], group.now)
    group.carry(dora)


def test_whoever_offers_a_state_first_and_gives_none_lets_others_go_first() -> None:
    """The first one to say a clock was asked, at each synchronization; the others were not, as long as that went on."""
    group, dora = with_newcomer()
    start_again(group)
    start = len(dora.sent)
    for _ in range(4):
        group.deliver("dora", CLOCK, "liar")
        group.deliver("dora", CLOCK, "ann")
        let_pass(group, SETTINGS["sync_interval"])
    assert asked(group, start) == {"liar", "ann"}


def test_an_old_clock_that_is_sent_again_without_a_pause_keeps_nobody_from_being_asked() -> None:
    """Anybody can read the clock of a member who is away now, and send it to a newcomer, who asked nobody else."""
    group, dora = with_newcomer()
    start_again(group)
    start = len(dora.sent)
    for step in range(300):
        group.deliver("dora", CLOCK, "liar")
        if step % 20 == 10:  # ann answers the clock of each synchronization
            group.deliver("dora", CLOCK, "ann")
        let_pass(group, SETTINGS["sync_interval"] // 20)
    assert asked(group, start) == {"liar", "ann"}


def test_a_state_that_comes_slowly_gives_way_to_another() -> None:
    """A page in each synchronization kept a newcomer out for four days, and then again."""
    group, dora = with_newcomer()
    start_again(group)
    start = len(dora.sent)
    group.deliver("dora", CLOCK, "liar")
    for page in range(10):
        group.deliver("dora", StatePage(FAR, page, 1000, b""), "liar")
        let_pass(group, SETTINGS["sync_interval"])
        group.deliver("dora", CLOCK, "ann")
    assert "ann" in asked(group, start)


def test_a_large_state_that_comes_at_a_good_rate_has_all_the_time_that_it_takes() -> None:
    group, dora = with_newcomer()
    start_again(group)
    start = len(dora.sent)
    group.deliver("dora", CLOCK, "liar")
    body = bytes(PAGE_BYTES)
    for page in range(400):
        group.deliver("dora", StatePage(FAR, page, 1000, body), "liar")
        let_pass(group, SETTINGS["sync_interval"] // 50)
        group.deliver("dora", CLOCK, "ann")
    assert asked(group, start) == {"liar"}


def test_whoever_gave_a_state_that_cannot_be_taken_lets_others_go_first() -> None:
    group, dora = with_newcomer()
    start_again(group)
    start = len(dora.sent)
    group.deliver("dora", CLOCK, "liar")
    group.deliver("dora", StatePage(FAR, 0, 1, b"no state"), "liar")
    group.deliver("dora", StatePage(FAR, 0, 1, b"no state"), "liar")
    let_pass(group, SETTINGS["retry"] // 4)
    group.deliver("dora", CLOCK, "liar")
    group.deliver("dora", CLOCK, "ann")
    assert asked(group, start) == {"liar", "ann"}


def first_page(group: Group, name: str) -> tuple[str, StatePage]:
    """Return the first page of the state that a member has now."""
    core = group[name].engine._core
    core.compact()
    state = state_at_compaction(core.replica)
    assert state is not None
    raw, size = CODEC.encode_state(state), limits.PAGE_BYTES
    return name, StatePage(state.mark, 0, len(raw) // size + 1, raw[:size])


def replay(group: Group, to: str, old: list[tuple[str, StatePage]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have somebody send these pages again before each packet that comes."""
    receive = group[to].engine.receive

    def receive_after_old_ones(peer: bytes, message: Message, now: Now) -> None:
        for name, page in old:
            receive(group[name].id, page, now)
        receive(peer, message, now)

    monkeypatch.setattr(group[to].engine, "receive", receive_after_old_ones)


@pytest.mark.parametrize("givers", [("ann",), ("liar",), ("ann", "liar")])
def test_old_first_pages_keep_no_newcomer_out(givers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """An old first page took the place of the one that was asked for, and no page followed it: then its author came
    last, for twice as long each time."""
    monkeypatch.setattr(limits, "PAGE_BYTES", 64)
    group, dora = with_newcomer()
    old = [first_page(group, name) for name in givers]
    group.say("ann", "one", "two")
    group.settle(20_000)
    start_again(group)
    replay(group, "dora", old, monkeypatch)
    group.sides = {}
    group.settle(2 * SETTINGS["sync_interval"])
    assert dora.texts() == ["hello", "one", "two"]


@pytest.mark.parametrize("givers", [("ann",), ("bob",), ("ann", "bob")])
def test_old_first_pages_keep_nobody_out_who_was_removed(
    givers: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With those of both others it never knew that it was removed."""
    monkeypatch.setattr(limits, "PAGE_BYTES", 64)
    group = removed()
    group.sides = {"cas": 1}
    group.settle(4_000)
    old = [first_page(group, name) for name in givers]
    group.say("ann", "one", "two")
    group.settle(4_000)
    replay(group, "cas", old, monkeypatch)
    group.sides = {}
    group.settle(3 * SETTINGS["sync_interval"])
    assert group["cas"].texts() == group["ann"].texts()


def given(group: Group, wanted: StateWanted, to: str = "dora") -> bool:
    """True if ann answers a question with a page."""
    start = len(group["ann"].sent)
    group.deliver("ann", wanted, to)
    return any(isinstance(packet.message, StatePage) for packet in group["ann"].sent[start:])


def test_an_old_question_that_is_sent_again_uses_up_nothing_of_its_author() -> None:
    """Anybody can send it: after a minute of that, its author had no state for an hour."""
    group, _ = with_newcomer()
    old = StateWanted(group.now.wall, 0)
    assert given(group, old)
    for _ in range(400):
        group.time += SETTINGS["retry"] // 8
        given(group, old)
    assert not given(group, old)
    assert given(group, StateWanted(group.now.wall, 0))


def test_each_question_for_a_state_has_a_larger_number_also_where_the_clock_was_put_back() -> None:
    group, dora = with_newcomer()
    start_again(group)
    taker, numbers = dora.engine._sync.taker, []
    for wall in (5_000, 4_000, 9_000):
        dora.engine._core.wall = wall
        dora.engine._core.mono += SETTINGS["retry"]
        taker.asking = None
        taker.ask(group["ann"].id)
        numbers += [one.message.number for one in dora.engine.take().packets if isinstance(one.message, StateWanted)]
    assert numbers == [5_000, 5_001, 9_000]


def removed() -> Group:
    """Return a group whose others removed cas while she was away."""
    group = Group("ann", "bob", "cas")
    group.sides = {"cas": 1}
    for number in range(12):
        for name in ("ann", "bob"):
            group.say(name, f"{number} of {name}")
    assert {view.slot for view in group["ann"].engine.members()} == {0, 1}
    group.sides = {}
    return group


def test_old_clocks_of_a_peer_that_are_sent_again_use_up_nothing_of_what_it_asks_for() -> None:
    """A member that was removed is offered the state where its clock is behind."""
    group = removed()
    for _ in range(100):
        group.time += SETTINGS["retry"] // 8
        group.deliver("ann", Sync(CheckpointMark(0, b""), ((0, 1),), bytes(32), ()), "cas")
    assert given(group, StateWanted(group.now.wall, 0), "cas")


def test_a_large_state_is_not_made_again_and_again_for_one_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    """One who was removed, or old packets of its, had it made for each question while others talk: a second each time,
    also when no page was left for it."""
    monkeypatch.setattr(limits, "PAGE_BYTES", 64)
    group = removed()
    made: list[bytes] = []

    def counted(replica: Replica, member: bytes) -> State | None:
        made.append(member)
        return state_for(replica, member)

    monkeypatch.setattr(pages, "state_for", counted)
    for number in range(60):
        group["ann"].engine.say(f"more {number}", group.now)
        group.carry(group["ann"])
        group.settle(4 * SETTINGS["retry"])
        group.deliver("ann", StateWanted(group.now.wall, 0), "cas")
    cas = made.count(group["cas"].id)
    assert pages.STATES_AN_HOUR <= cas <= 4 * pages.MADE_AN_HOUR, "by two, for what it asks and for its clocks"


def test_old_packets_of_others_do_not_hide_a_removal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can send what ann and bob said before: as long as that went on, cas took no state, since both had said
    that they go on from what she holds."""
    group = removed()
    old = Sync(CheckpointMark(0, b""), ((0, 1),), bytes(32), ())
    receive = group["cas"].engine.receive

    def receive_after_old_ones(peer: bytes, message: Message, now: Now) -> None:
        for name in ("ann", "bob"):
            receive(group[name].id, old, now)
        receive(peer, message, now)

    monkeypatch.setattr(group["cas"].engine, "receive", receive_after_old_ones)
    group.settle(30_000)
    assert group["cas"].heard(StateAdopted)
    assert group["cas"].engine.me is None


def test_whoever_was_removed_asks_for_the_state_by_itself() -> None:
    """Others may have used up all that it is offered."""
    group = removed()
    ann, start = group["ann"].engine, len(group["cas"].sent)
    group.deliver("cas", Sync(ann.checkpoint, (), bytes(32), ()), "ann")
    wanted = [packet for packet in group["cas"].sent[start:] if isinstance(packet.message, StateWanted)]
    assert wanted == [Packet(group["ann"].id, StateWanted(group.now.wall, 0))]


def test_a_post_of_a_state_has_no_more_text_than_one_that_is_written() -> None:
    group = Group("ann")
    group.say("ann", "hello")
    core = group["ann"].engine._core
    core.compact()
    state = state_at_compaction(core.replica)
    assert state is not None
    (post,) = state.posts

    def read(size: int) -> object:
        return CODEC.decode_state(CODEC.encode_state(state._replace(posts=(post._replace(text="x" * size),))))

    assert not isinstance(read(MAX_TEXT_BYTES), Refusal)
    assert isinstance(read(MAX_TEXT_BYTES + 1), Refusal)
