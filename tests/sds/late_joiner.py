"""Groups that did not begin together: what is acknowledged in the end, and what that costs.

    python -m tests.sds.late_joiner      the table, of ten worlds of each kind

Nobody speaks but these participants, no packet is lost, and each has the default settings. They write for five minutes,
and then nothing for `QUIET_FOR` sync intervals.
"""

from __future__ import annotations

from functools import reduce
from random import Random
from typing import NamedTuple

from sdschat.sds.config import Config
from tests.sds.group import Group

NAMES = "abcde"
DEFAULT = Config(id_rule="text")
WORLDS = 10
SETTLED_WITHIN = 10  # sync intervals of quiet
QUIET_FOR = 60
WRITES = 28  # messages of each world
GAP = 20_000  # at most, between two of them
CHANGES = 0.2  # how often another writes the next one


class Kind(NamedTuple):
    """Participants by when they come, in seconds, and by how far their clocks are ahead."""

    comes: tuple[int, ...]
    ahead: tuple[int, ...] = ()
    alone: int = 0  # messages of the first one, before anybody else comes
    config: Config = DEFAULT

    @property
    def together(self) -> Kind:
        """The same, had they begun together."""
        return Kind((0,) * len(self.comes), (), 0, self.config)


KINDS = {
    "two, the second 5 s later": Kind((0, 5)),
    "two, the second 60 s later": Kind((0, 60)),
    "two, the second 300 s later": Kind((0, 300)),
    "two, the first one's clock 3 s ahead": Kind((0, 0), (3, 0)),
    "two, the second one's clock 3 s ahead": Kind((0, 0), (0, 3)),
    "three, the last 60 s later": Kind((0, 0, 60)),
    "three, each a minute after the other": Kind((0, 60, 120)),
    "five, the last 60 s later": Kind((0, 0, 0, 0, 60)),
}
# What was said before the horizon of the later one is not told to it, but for what nobody has acknowledged: that comes
# as it is resent, every ten minutes by then.
BEFORE = {
    "two, the second an hour after 5 messages": Kind((0, 3600), alone=5),
    "three, the last an hour after 5 messages": Kind((0, 0, 3600), alone=5),
}


class Outcome(NamedTuple):
    """Counts of one world."""

    unsettled: int  # own messages not acknowledged after `SETTLED_WITHIN`
    packets: int  # all that were sent from when the last one came until then
    resent_later: int  # after that

    def plus(self, other: Outcome) -> Outcome:
        return Outcome(*map(sum, zip(self, other, strict=True)))


def play(kind: Kind, seed: int) -> Outcome:
    """One world: those who are there write in turn, until everybody has come and all has been written."""
    chance = Random(seed)
    group = Group(config=kind.config)
    first = group.now.mono
    for name, comes, ahead in zip(NAMES, kind.comes, kind.ahead or (0,) * len(kind.comes), strict=False):
        if comes:
            group.tick(max(0, first + 1000 * comes - group.now.mono))
        group.add(name, skew=1000 * ahead)
        if name == NAMES[0]:
            for number in range(kind.alone):
                group.say(name, f"alone {number}")
                group.tick(1000)
    sent = sum(len(node.sent) for node in group.nodes.values())
    writer = NAMES[0]
    for number in range(WRITES):
        if chance.random() < CHANGES:  # nobody mentions the messages of one who goes on writing
            writer = chance.choice(list(group.nodes))
        group.say(writer, f"{number}")
        group.tick(chance.randrange(1, GAP))
    return _rest(group, kind.config, -sent)


def _rest(group: Group, config: Config, packets: int) -> Outcome:
    group.tick(SETTLED_WITHIN * config.sync_interval)
    unsettled = sum(len(node.channel.unacknowledged) for node in group.nodes.values())
    packets += sum(len(node.sent) for node in group.nodes.values())
    before = _not_sync(group)
    group.tick((QUIET_FOR - SETTLED_WITHIN) * config.sync_interval)
    return Outcome(unsettled, packets, _not_sync(group) - before)


def _not_sync(group: Group) -> int:
    return sum(packet.kind != "sync" for node in group.nodes.values() for packet in node.sent)


def total(kind: Kind, worlds: int) -> Outcome:
    """The sum of so many worlds."""
    return reduce(Outcome.plus, (play(kind, seed) for seed in range(worlds)))


def main() -> None:
    print(f"{'world':44} {'open':>5} {'packets':>8} {'together':>9} {'more':>6} {'resent later':>13}")
    for name, kind in {**KINDS, **BEFORE}.items():
        found, together = total(kind, WORLDS), total(kind.together, WORLDS)
        more = found.packets / together.packets - 1
        print(
            f"{name:44} {found.unsettled:5} {found.packets:8} {together.packets:9} {more:6.1%} {found.resent_later:13}"
        )


if __name__ == "__main__":
    main()
