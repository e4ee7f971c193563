"""The model of acknowledgement, in slices of a few seconds; the whole of it is `python -m tests.sds.ack_model`."""

from __future__ import annotations

from random import Random

import pytest

from sdschat.sds.bloom.compact import CompactFilter, fingerprint, read_filter
from sdschat.sds.config import Config
from sdschat.sds.state import ChannelState
from sdschat.sds.steps import ranges, receive, send, sync
from sdschat.sds.steps.ranges import PATIENCE, SECTIONS, question
from sdschat.sds.steps.sync import send_sync
from sdschat.sds.values import Message, Now
from tests.sds.ack_model import BEFORE, DAY, NOW, Action, Print, Rules, State, World, explore, search, told
from tests.sds.ack_scripts import NAMES, Script, every, scripts
from tests.sds.group import CODEC, START, Node

LATER_JOINER = Script(("+b", "b", "a"))
UNIT = 100_000  # ms of one date of the model


def test_before_what_the_later_joiner_wrote_was_never_acknowledged() -> None:
    found = explore(iter([LATER_JOINER]), BEFORE)
    assert told(found) == (
        "horizons: a 0, b 10\n"
        "  b joins\n"
        "  b writes\n"
        "  b: resend b@21; a hears it\n"
        "  and for ever after: resends of b@21, which everybody has"
    )


def test_now_it_is() -> None:
    assert search(World(LATER_JOINER, NOW)).stuck is None


@pytest.mark.parametrize(("nodes", "writes", "leaves"), [(2, 2, False), (2, 2, True), (3, 1, False), (3, 1, True)])
def test_all_is_acknowledged_in_the_end(nodes: int, writes: int, leaves: bool) -> None:
    found = explore(every(nodes, writes, leaves), NOW)
    assert (found.result, found.worlds > 10) == (None, True), told(found)


def test_all_is_acknowledged_in_the_end_though_packets_are_late() -> None:
    found = explore(scripts(2, 2), NOW, delays=True)
    assert (found.result, found.worlds) == (None, 10), told(found)


def test_an_equal_range_below_the_horizon_is_not_enough_by_itself() -> None:
    """Messages that a wrote before b came make all the ranges that a goes through differ."""
    script = Script(("a", "+c", "-c", "+b", "b"))
    assert search(World(script, Rules(questions=False))).stuck is not None
    assert search(World(script, NOW)).stuck is None


def test_questions_for_everything_at_once_are_not_enough() -> None:
    """A message that b wrote before it went is resent by nobody, and c never has it."""
    script = Script(("+b", "a", "b", "-b", "+c"))
    assert search(World(script, Rules(narrow=False))).stuck is not None
    assert search(World(script, NOW)).stuck is None


# Engines along the paths of the model.


class Engines:
    """Real engines in a world of the model. What settles messages apart from ranges is taken out of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ids: list[str] = []
        self.nodes: dict[int, Node] = {}
        self.late: dict[int, bytes] = {}
        self.step = 0
        self._join(0)

    @property
    def now(self) -> Now:
        """The end of the day of the last step of the script."""
        return Now(START + (DAY * self.step + DAY - 1) * UNIT, 1_000_000 + self.step)

    def _join(self, node: int) -> None:
        config = Config(
            id_rule="text",
            bloom_layout="compact",
            push_grace=0,
            max_skew=DAY * self.world.script.slack * UNIT,
            sync_interval=24 * 3_600_000,
        )
        self.nodes[node] = Node(NAMES[node], config, Now(START + DAY * self.step * UNIT, 1_000_000 + self.step))

    def state(self, node: int) -> ChannelState:
        return self.nodes[node].channel.state

    def do(self, action: Action) -> None:
        if action.kind == "script":
            self._script(self.world.script.steps[action.node])
        elif action.kind in ("resend", "push"):
            found = self.state(action.node).packet_of(self.ids[action.message])
            assert found is not None
            self._give(action.to, found[0])
        elif action.kind == "restart":
            self.nodes[action.node].open(self.now)
            self.state(action.node).ranges.asked = None
        elif action.kind == "loss":
            del self.late[action.node]
        elif action.kind == "arrival":
            self._give(action.to, self.late.pop(action.node))
        else:
            self._sync(action)

    def _script(self, step: str) -> None:
        self.step += 1
        node = NAMES.index(step[-1])
        if step[0] == "+":
            self._join(node)
        elif step[0] != "-":
            date = self.world.dates[len(self.ids)]
            message = self.nodes[node].channel.send(Now(START + date * UNIT, self.now.mono), step.encode())
            self.nodes[node].take()
            assert message.lamport_timestamp == START + date * UNIT
            self.ids.append(message.message_id)

    def _sync(self, action: Action) -> None:
        s, section = self.state(action.node), action.section
        assert section is not None
        s.now = self.now
        if action.kind == "question":
            self._aim(s, section)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ranges, "section_kinds", lambda _: (action.kind,))
            send_sync(s)
        packet = self.nodes[action.node].take().packets[-1]
        message = CODEC.decode(packet.raw)
        assert isinstance(message, Message)
        found = read_filter(message.bloom_filter or b"")
        assert isinstance(found, CompactFilter)
        theirs = found.range_print
        assert theirs is not None
        ids = [message_id for m, message_id in enumerate(self.ids) if section.ids >> m & 1]
        assert (_ends(theirs.low, theirs.high), theirs.ids) == ((section.low, section.high), len(ids))
        assert theirs.fingerprint == fingerprint(ids)
        if self.world.delays:
            self.late[action.node] = packet.raw
        self._give(action.to, packet.raw)

    def _aim(self, s: ChannelState, section: Print) -> None:
        """Whichever of the questions that it may ask."""
        oldest = next(s.outgoing.oldest_first())
        oldest.sends = PATIENCE
        top = ranges._settled_top(s)
        for number in range(2 * len(s.outgoing.open)):
            s.sync.count = len(SECTIONS) * number
            asked = question(s, top)
            if asked is not None and _ends(*asked) == (section.low, section.high):
                return
        raise AssertionError(f"it does not ask for {section}")

    def _give(self, to: tuple[int, ...], raw: bytes) -> None:
        for node in to:
            self.nodes[node].channel.receive(self.now, raw)
            self.state(node).ranges.wanted = None
            self.nodes[node].take()

    def compare(self, state: State) -> None:
        """Everything that the model says of them."""
        for node, each in self.nodes.items():
            held = {message_id for m, message_id in enumerate(self.ids) if state.holds[node] >> m & 1}
            assert set(each.log) == held
            asked = self.state(node).ranges.asked
            assert (None if asked is None else _ends(*asked)) == state.asked[node]
        for m, message_id in enumerate(self.ids):
            still_open = message_id in self.state(self.world.authors[m]).outgoing.open
            assert still_open is not bool(state.acked >> m & 1)


def _ends(low: int, high: int) -> tuple[int, int]:
    return (low - START) // UNIT, (high - START) // UNIT


@pytest.mark.parametrize("delays", [False, True])
@pytest.mark.parametrize("seed", range(25))
def test_engines_do_what_the_model_says(seed: int, delays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (send, sync):
        monkeypatch.setattr(module, "preceding_ids", lambda _: ())
    monkeypatch.setattr(receive, "review_filter", lambda *_, **__: None)
    monkeypatch.setattr(receive, "review_lacks", lambda *_: None)
    chance = Random(seed)
    found = [script for script in scripts(chance.choice((2, 3)), 3, chance.random() < 0.3)]
    world = World(Script(chance.choice(found).steps, chance.choice((0, 1, 9))), NOW, delays)
    state, engines = world.start(), Engines(world)
    for _ in range(60):
        moves = list(world.moves(state))
        if not moves:
            break
        scripted = moves[0] if moves[0][0].kind == "script" and chance.random() < 0.2 else None
        action, state, _ = scripted or chance.choice(moves)
        engines.do(action)
        engines.compare(state)
