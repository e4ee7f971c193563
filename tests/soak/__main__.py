"""Many real processes for a long time, with faults and restarts.

    python -m tests.soak [--minutes 10] [--nodes 8] [--every 1] [--seed 1] [--keep DIR] [--waku]

Each node is a `sdschat pipe` with a profile and settings of its own (`tests.soak.settings`); the embedded broker moves
as its hosts come and go. Some nodes join while the others talk. Half of the nodes are ended again and again (kill -9,
TERM, INT), stay away for a while and come back with other settings. The other half runs all the time; memory and
descriptors are measured there. At the end no node sends, all are present and without faults, the logs on disk must
become equal and hold every message that any node showed as its own, and every message must be acknowledged at its
author. A minute later the soak listens to the group for a while: only sync messages may pass.

The exit code is 1, with the reasons, if

- logs differ, or are not what was written (rules: `tests.soak.account`);
- a message that a node gave up never came;
- a node still has something to do, or does something when all should be at rest (`tests.soak.liveness`);
- a process ended by itself or with a wrong code, or reported trouble;
- memory or descriptors of the nodes that ran all the time grew from the second quarter to the last.

Messages that were given up and came after all, and lines that a process had not read when it was killed, are counted
and printed.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.soak.account import Log, judge
from tests.soak.liveness import Rest, judge_quiet, judge_rest, kinds, packets
from tests.soak.member import Member, Use
from tests.soak.settings import DIFFERING, FAULTS, WAKU, draw
from tests.soak.tap import Tap
from tests.transport.worlds import free_port

RESTART_EVERY = 12.0  # seconds between the ends of two processes
AWAY = 10.0  # most seconds between an end and the restart
SETTLE = 180.0  # seconds for the logs to become equal and all messages to be acknowledged
SETTLE_WAKU = 1200.0  # the same with waku's filters: every packet is 18 KB long
TELL_EVERY = 20.0  # seconds between two reports meanwhile
TAIL = 60.0  # seconds within which a page whose acknowledgement the faults took is sent again, and then no more
QUIET = 30.0  # seconds of listening to a group at rest: five times the time between two resends
LAST_JOIN = 480.0  # seconds: less than `sds.max_skew`, so that a node that fetches no history gets all messages too
FLAT_AFTER = 120.0  # seconds: in a shorter run memory still grows by starting
GROWTH, EXTRA_FILES = 1.15, 4  # most growth of memory (factor) and of descriptors (count)
_TICK = 0.2


class Soak:
    def __init__(self, home: Path, nodes: int, minutes: float, every: float, seed: int, waku: bool) -> None:
        self._home = home
        self._random = Random(seed)
        self._length = minutes * 60
        self._every = every  # seconds between two messages of a node
        self._differing, self._settle_within = (WAKU, SETTLE_WAKU) if waku else (DIFFERING, SETTLE)
        self._port = free_port()
        self.members = [Member(home, f"node{number}", []) for number in range(nodes)]
        for member in self.members:
            self._draw(member)
        self._steady, self._restless = self.members[nodes // 2 :], self.members[: nodes // 2]
        self._back: dict[Member, float] = {}  # monotonic time at which an ended member starts again
        self._uses: list[tuple[float, list[Use]]] = []

    def run(self) -> list[str]:
        """Run the soak. Return the problems."""
        print(f"{'minute':>6} {'said':>6} {'behind':>6} {'restarts':>8} {'MiB':>11} {'descriptors':>11} {'db MiB':>7}")
        late = self._random.sample(self.members[1:], -(-len(self.members) // 3))
        for member in self.members:
            if member not in late:
                member.start()
        try:
            self._talk({member: self._random.uniform(5, min(self._length / 4, LAST_JOIN)) for member in late})
            for member in self.members:
                if not member.running:
                    member.start()
            self._calm()
            wrong = self._judge(*self._settle())
            wrong += judge_rest({member.name: member.rest() for member in self.members}) or self._listen()
        finally:
            for member in self.members:
                member.end(signal.SIGTERM)
        return wrong + [problem for member in self.members for problem in member.problems] + self._growth()

    def _draw(self, member: Member) -> None:
        """Draw settings for the next process of a member."""
        drawn = draw(self._random, self._differing)
        print(f"{member.name}: {' '.join(drawn)}")
        member.options = ["--timing", "demo", "--set", "trust.messages_per_minute=0"]
        for setting in (f"embedded.port={self._port}", f"fault.seed={self._random.randrange(1000)}", *FAULTS, *drawn):
            member.options += ["--set", setting]

    def _talk(self, late: dict[Member, float]) -> None:
        """Let all members talk, end and restart. `late`: seconds until a member joins for the first time."""
        began = time.monotonic()
        self._back = {member: began + after for member, after in late.items()}
        speak = {member: began + self._random.uniform(2, 2 + self._every) for member in self.members}
        restart, row = began + RESTART_EVERY, began + min(60.0, self._length / 10)
        while (now := time.monotonic()) < began + self._length:
            for member in self.members:
                if now >= speak[member]:
                    speak[member] = now + self._random.uniform(0, 2 * self._every)
                    member.say(f"{member.name} number {member.account.written} {'x' * self._random.randrange(200)}")
            if now >= restart:
                restart = now + self._random.uniform(0, 2 * RESTART_EVERY)
                self._end_one(now)
            for member in [each for each, due in self._back.items() if now >= due]:
                del self._back[member]
                member.restarts += bool(member.account.runs)
                member.start()
            if now >= row:
                row += min(60.0, self._length / 10)
                self._print_row(now - began)
            time.sleep(_TICK)

    def _end_one(self, now: float) -> None:
        running = [member for member in self._restless if member.joined]
        if running:
            member = self._random.choice(running)
            member.end(self._random.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
            self._back[member] = now + self._random.uniform(0, AWAY)
            self._draw(member)

    def _print_row(self, elapsed: float) -> None:
        uses = [use for member in self._steady if (use := member.use()) is not None]
        self._uses.append((elapsed, uses))
        heard = [member.events["delivered"] for member in self._steady]
        said = sum(member.account.written for member in self.members)
        restarts = sum(member.restarts for member in self.members)
        memory = [use.memory for use in uses] or [0.0]
        descriptors = max((use.descriptors for use in uses), default=0)
        files = self._home.glob("data/sdschat/profiles/*/sdschat.db")
        size = max((path.stat().st_size for path in files), default=0) / 2**20
        print(
            f"{elapsed / 60:>6.1f} {said:>6} {said - min(heard):>6} {restarts:>8} "
            f"{min(memory):>5.1f}-{max(memory):>5.1f} {descriptors:>11} {size:>7.1f}",
            flush=True,
        )

    def _calm(self) -> None:
        """Wait until all have joined, and end all faults."""
        until = time.monotonic() + SETTLE
        while not all(member.joined for member in self.members) and time.monotonic() < until:
            time.sleep(_TICK)
        for member in self.members:
            member.calm()

    def _settle(self) -> tuple[float, list[Log]]:
        """Wait until all have read their lines and are at rest, and the logs are equal, or until the time is over.

        Return the seconds that it took, and the logs.
        """
        began = row = time.monotonic()
        while True:
            over = time.monotonic() - began > self._settle_within
            rests = {member.name: member.rest() for member in self.members}
            if time.monotonic() > row + TELL_EVERY:
                row = time.monotonic()
                busy = "; ".join(f"{name} {rest}" for name, rest in rests.items() if rest != Rest())
                print(f"after {row - began:.0f} s still: {busy or 'history is fetched'}", flush=True)
            if over or (all(member.caught_up for member in self.members) and set(rests.values()) == {Rest()}):
                seconds = time.monotonic() - began
                logs = [member.log() for member in self.members]
                if over or all(log == logs[0] for log in logs):
                    return seconds, logs
            time.sleep(1.0)

    def _listen(self) -> list[str]:
        """Return problems with the packets and events of a group in which no node has anything to do."""
        time.sleep(TAIL)
        folder = self._home / "tap"
        with Tap(self._home, folder, self._port):
            before = {member: member.events.copy() for member in self.members}
            time.sleep(QUIET)
            told = {member.name: member.events - events for member, events in before.items()}
        found = kinds(packets(folder))
        passed = ", ".join(f"{count} {kind}" for kind, count in found.items())
        print(f"at rest for {QUIET:.0f} s: {passed or 'nothing'} passed")
        return judge_quiet(told, found)

    def _judge(self, seconds: float, logs: list[Log]) -> list[str]:
        accounts = [member.account for member in self.members]
        equal = all(log == logs[0] for log in logs)
        print(f"{len(logs)} logs {'equal' if equal else 'DIFFER'}, of {len(logs[0])} messages, after {seconds:.0f} s")
        written, unread = (sum(each) for each in zip(*((a.written, a.unread(logs[0])) for a in accounts), strict=True))
        print(f"{written} lines written, {unread} of them not read by a process that was ended before")
        given_up = [account.given_up for account in accounts]
        print(f"{sum(map(len, given_up))} times a node gave up a message; what never came is named below")
        return judge(accounts, logs)

    def _growth(self) -> list[str]:
        if self._length < FLAT_AFTER:
            return []
        quarter = len(self._uses) // 4
        early, late = self._uses[quarter : 2 * quarter], self._uses[-quarter:]
        if not early:
            return []
        wrong = []
        memory = [max((use.memory for _, uses in part for use in uses), default=0.0) for part in (early, late)]
        files = [max((use.descriptors for _, uses in part for use in uses), default=0) for part in (early, late)]
        print(f"memory {memory[0]:.1f} -> {memory[1]:.1f} MiB, descriptors {files[0]} -> {files[1]}")
        if memory[1] > memory[0] * GROWTH:
            wrong.append(f"memory grew from {memory[0]:.1f} to {memory[1]:.1f} MiB")
        if files[1] > files[0] + EXTRA_FILES:
            wrong.append(f"descriptors grew from {files[0]} to {files[1]}")
        return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two messages of a node")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--waku", action="store_true", help="some nodes use waku's filters; settling takes longer")
    parser.add_argument("--keep", type=Path, help="leave the profiles here")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        home = given.keep or Path(folder)
        home.mkdir(parents=True, exist_ok=True)
        wrong = Soak(home, given.nodes, given.minutes, given.every, given.seed, given.waku).run()
    for problem in wrong:
        print(problem, file=sys.stderr)
    print("held" if not wrong else f"{len(wrong)} things were wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
