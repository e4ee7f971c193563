"""The director of the demonstration: runs the script on a local group of nodes, and counts the results."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any, Final, NoReturn

from sdschat.node.events import ConnectionChanged, HostingChanged, MessageDelivered, NodeEvent, ev
from sdschat.node.node import Node
from sdschat.node.recording.recorder import Recorder
from sdschat.node.sync import extension
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.tools.local_group import LocalGroup
from sdschat.node.view.values import AckState
from sdschat.tui.demo.script import ANSWERS, GREETING, LENGTH, NAMES, ONCE, WATCHER, WRITTEN_FOR_YOU, Act, Verb, acts

_ANSWER_AFTER: Final = 2.0  # seconds
_LOOK: Final = 0.2  # seconds between two comparisons of all logs


class NodeTally:
    """The counts of one node's events."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.own: dict[str, AckState] = {}

    def hear(self, event: NodeEvent) -> None:
        body = event.body
        counts = self.counts
        match body:
            case MessageDelivered():
                counts["delivered"] += 1
                counts["late"] += body.late
                counts["repaired"] += body.via == "repair"
                if body.said.own:
                    self.own[body.said.message.message_id] = AckState.UNACKED
            case ev.StateChanged() if body.message_id in self.own:
                self.own[body.message_id] = body.state
            case ev.RepairRequested():
                counts["repairs_requested"] += len(body.message_ids)
            case ev.RepairResponded():
                counts["repairs_answered"] += 1
            case ev.Pushed():
                counts["pushed"] += 1
            case ev.DependenciesMissing():
                counts["missing"] += len(body.dependencies)
            case ev.DependenciesLost():
                counts["lost"] += len(body.dependencies)
            case HostingChanged(hosting=True):
                counts["hosted_broker"] += 1

    def summary(self) -> dict[str, int]:
        names = (
            "delivered",
            "late",
            "missing",
            "repaired",
            "lost",
            "repairs_requested",
            "repairs_answered",
            "pushed",
            "hosted_broker",
        )
        states = list(self.own.values())
        return {
            "sent": len(states),
            "acked": states.count(AckState.ACKED),
            "possibly_acked": states.count(AckState.POSSIBLY_ACKED),
            **{name: self.counts[name] for name in names},
        }


class Director:
    """One run. `tell` receives the lines for the watcher."""

    def __init__(
        self,
        group: LocalGroup,
        peers: int,
        loss: float,
        tell: Callable[[str], None] = lambda _: None,
        record: Path | None = None,
    ) -> None:
        self.group = group
        self.peers = NAMES[:peers]
        self.loss = loss
        self.tallies: dict[str, NodeTally] = {}
        self.show_notice = tell
        self.watching = asyncio.Event()  # the watcher's channel is connected
        self._record = record
        self._recorder: Recorder | None = None
        self._over = False  # nobody answers any more
        self._answers = cycle(ANSWERS)

    @property
    def nicks(self) -> tuple[str, ...]:
        """Return the nicks of all nodes, the watcher last, so that another node hosts the broker first."""
        return (*self.peers, WATCHER)

    async def open(self) -> None:
        """Start all nodes; the peers join now, the watcher when its screen is shown.

        Raises TimeoutError if no broker could be started, OSError if the recording cannot be written, and the errors
        of opening a profile.
        """
        await self.group.admit(self.peers, self._present)
        watcher = self.group.open(WATCHER, self._present)
        if self._record is not None:
            self._recorder = Recorder(watcher, self._record)

    async def close(self) -> None:
        self._over = True
        await self.group.close()
        if self._recorder is not None:
            self._recorder.close()

    def _present(self, node: Node) -> None:
        extension.install(node)
        tally = self.tallies[node.nick] = NodeTally()
        node.listen(tally.hear)
        if node.nick == WATCHER:
            node.listen(self._begin)
            node.listen(self._answer_soon)

    def _begin(self, event: NodeEvent) -> None:
        if isinstance(event.body, ConnectionChanged) and event.body.state == "connected":
            self.watching.set()

    def _answer_soon(self, event: NodeEvent) -> None:
        """Have the first peer answer what the watcher wrote."""
        body = event.body
        if isinstance(body, MessageDelivered) and body.said.own and body.said.opened.text != GREETING:
            asyncio.get_running_loop().call_later(_ANSWER_AFTER, self._answer)

    def _answer(self) -> None:
        if not self._over:
            self.group.nodes[self.peers[0]].send(self.group.channel, next(self._answers))

    async def join(self) -> None:
        """Let the watcher join without a screen, and wait until its channel is connected."""
        self.group.nodes[WATCHER].join(self.group.channel)
        await self.watching.wait()

    @property
    def failed(self) -> list[asyncio.Future[NoReturn]]:
        """Return one future for each node: the error that ends it."""
        return [node.failed for node in self.group.nodes.values()]

    async def play(self, seconds: float | None = None) -> None:
        """Play the script without end; or for `seconds`, fast enough to reach its end once.

        The time of every act is counted from the start: on a slow machine acts follow each other closer, and none is
        left out.
        """
        pace = 1.0 if seconds is None else min(1.0, seconds / LENGTH)
        loop = asyncio.get_running_loop()
        due = loop.time()
        end = None if seconds is None else due + seconds
        for number, act in enumerate(acts()):
            due += act.pause * pace
            if end is not None and due > end and number >= ONCE:
                break
            await asyncio.sleep(max(0.0, due - loop.time()))
            await self.do(act)

    async def settle(self, seconds: float) -> bool:
        """End all faults, and wait at most so long until all logs are equal and all messages acknowledged.

        Return True if the logs are equal.
        """
        await self.do(Act(0, Verb.CALM))
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while loop.time() < end and not (self.group.equal_logs() and self._all_acked()):
            await asyncio.sleep(_LOOK)
        return self.group.equal_logs()

    def _all_acked(self) -> bool:
        return all(state is AckState.ACKED for tally in self.tallies.values() for state in tally.own.values())

    async def do(self, act: Act) -> None:
        nick = self.peers[act.peer % len(self.peers)]
        watcher = self._faults(WATCHER)
        match act.verb:
            case Verb.SAY:
                self.group.nodes[nick].send(self.group.channel, act.text)
            case Verb.GREET if not self.tallies[WATCHER].own:  # else the watcher has begun to talk
                self.group.nodes[WATCHER].send(self.group.channel, act.text)
                self.show_notice(WRITTEN_FOR_YOU)
            case Verb.TELL:
                self.show_notice(act.text)
            case Verb.LOSS:
                for each in self.nicks:
                    self._faults(each).share("loss", self.loss)
            case Verb.DEAF:
                watcher.share("loss", 1.0, "in")
            case Verb.HEAR:
                watcher.share("loss", self.loss, "in")
            case Verb.LEAVE | Verb.RETURN:
                self._faults(nick).offline(act.verb is Verb.LEAVE)
            case Verb.SILENCE | Verb.UNSILENCE:
                watcher.partition(self.group.nodes[nick].sender_id, nick, act.verb is Verb.SILENCE)
            case Verb.BROKER:
                await self.group.end_broker()
            case Verb.CALM:
                for each in self.nicks:
                    self._faults(each).off()

    def _faults(self, nick: str) -> Injection:
        return Injection(self.group.nodes[nick], self.group.channel)

    def summary(self, seconds: float) -> dict[str, Any]:
        """Return the results as `sdschat demo --headless` prints them."""
        states = {nick: self.group.log_state(nick) for nick in self.nicks}
        nodes = {
            nick: {
                **self.tallies[nick].summary(),
                "log": states[nick].messages,
                "fingerprint": states[nick].fingerprint,
                "packets_lost": sum(way.lost for way in self._faults(nick).carried().values()),
            }
            for nick in self.nicks
        }
        return {
            "v": 1,
            "seconds": round(seconds, 1),
            "channel": self.group.channel,
            "peers": len(self.peers),
            "loss": self.loss,
            "messages": sum(tally.summary()["sent"] for tally in self.tallies.values()),
            "equal_logs": len(set(states.values())) == 1,
            "nodes": nodes,
        }
