"""The group of the theatre: four nodes with the model of a log each, and the faults between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from sdschat.node.events import Joined, NodeEvent
from sdschat.node.node import Node
from sdschat.node.sync import extension
from sdschat.node.tools.links import Links
from sdschat.node.tools.local_group import LocalGroup
from sdschat.tui.model.words import count
from sdschat.tui.theatre.script import BETWEEN_SIDES, LINKS, PEOPLE, Link
from sdschat.tui.theatre.watched_group import WatchedGroup

_BETWEEN: Final = 3  # columns between two remarks
_DIGITS: Final = 4  # of a fingerprint on the screen
_AWAY: Final = 2.5  # seconds between the end of a node and its next start


class TheatreGroup(WatchedGroup):
    """The four, the links that are cut between them, and those that are away. `tell` hears what was done to them, be
    it by a key or by the script."""

    def __init__(self, group: LocalGroup) -> None:
        super().__init__(group)
        self._links = Links(group.channel)
        self.loss = 0.0
        self.away: set[str] = set()  # those that are not running now
        self.tell: Callable[[str], object] = str

    async def open(self) -> None:
        """Start all nodes. Raises TimeoutError if no broker could be started."""
        await self.group.admit(PEOPLE, self._present)

    def _present(self, node: Node) -> None:
        extension.install(node)
        self.watch(node, partial(self._joined, node))

    def _joined(self, node: Node, event: NodeEvent) -> None:
        """Put the faults of now on a node before it sends anything."""
        if isinstance(event.body, Joined):
            self._links.put_on(node, self.loss)

    @property
    def cut(self) -> set[Link]:
        return {link for link in LINKS if self._links.is_cut(*link)}

    # What happens to them.

    def say(self, nick: str, text: str) -> None:
        """Send a text of this participant, unless it is away. Raises ValueError with a sentence for a text that cannot
        be sent."""
        if nick not in self.away:
            self.group.nodes[nick].send(self.group.channel, text)

    def turn(self, link: Link) -> bool:
        """Cut a link, or mend it. Return True if it is cut now."""
        cut = link not in self.cut
        self._set((link,), cut)
        both = " and ".join(link)
        if cut:
            by_others = " Others pass on what they say." if self._passed_on(link) else ""
            self.tell(f"Cut: {both} do not hear one another.{by_others}")
        else:
            others = f" Still cut: {count(len(self.cut), 'link')}." if self.cut else ""
            self.tell(f"Mended: {both} hear one another.{others}")
        return cut

    def split(self) -> None:
        """Cut all links between the left two and the right two."""
        between = {LINKS[number] for number in BETWEEN_SIDES}
        if not between <= self.cut:
            self._set(between, True)
            self.tell("Cut: ann and carol, at the left, do not hear bob and dave.")

    def mend(self) -> None:
        """Mend all links, and lose no more packets."""
        was_cut, lost = bool(self.cut), bool(self.loss)
        self.loss = 0.0
        self._set(LINKS, False)
        self._spread()
        if was_cut:
            self.tell("All links are mended: watch the gaps close.")
        elif lost:
            self.tell("No packet is lost any more.")

    def lose(self, share: float) -> None:
        """Lose this share of all packets, in both directions."""
        self.loss = share
        self._spread()
        lost = f"Of all packets {share:.0%} get lost: what is missing is asked for, and sent again."
        self.tell(lost if share else "No packet is lost any more.")

    def _set(self, links: Iterable[Link], cut: bool) -> None:
        for link in links:
            self._links.set(*link, cut=cut)

    def _passed_on(self, link: Link) -> bool:
        """True if what is said at one end of a cut link reaches the other end by others."""
        reached = {link[0]}
        for _ in PEOPLE:
            reached |= {nick for each in LINKS if each not in self.cut and reached & {*each} for nick in each}
        return link[1] in reached

    def _spread(self) -> None:
        """Put the loss of now on all that are running."""
        for nick in set(PEOPLE) - self.away:
            self._links.put_on(self.group.nodes[nick], self.loss)

    async def restart(self, nick: str) -> None:
        """Kill a node, and open its profile again after a moment. Raises TimeoutError."""
        if nick in self.away:
            return
        self.away.add(nick)
        self.tell(f"The program of {nick} is killed; its database stays.")
        try:
            self.models[nick].view.close()
            await self.group.restart(nick, self._present, _AWAY)
        finally:
            self.away.discard(nick)
        self.tell(f"The program of {nick} runs again: it asks for what was said meanwhile.")

    # What is seen of them.

    def fingerprints(self) -> dict[str, str]:
        """Return the first digits of the fingerprint of each log; of one that is empty or not running, nothing."""
        return {nick: "" if nick in self.away else self.group.log_state(nick).fingerprint[:_DIGITS] for nick in PEOPLE}

    def equal(self) -> bool:
        return not self.away and self.group.equal_logs()

    def differing(self, logs: int) -> str:
        """Return in words that the logs are not equal, where `logs` different ones have messages."""
        if logs > 1:
            return f"{logs} different logs"
        if self.away:
            return f"{' and '.join(sorted(self.away))} killed, the other logs are equal"
        return "some logs are empty" if logs else "all logs are empty"

    def remarks(self, room: int, *, paused: bool) -> list[str]:
        """Return what is done to the group, in short words where there is no room for long ones."""
        cut, loss = f"{len(self.cut)} of {len(LINKS)}", f"{self.loss:.0%}"
        found = [
            (long, short)
            for true, long, short in (
                (self.cut, f"{cut} links cut", f"{cut} cut"),
                (self.loss, f"{loss} of all packets lost", f"{loss} lost"),
                (paused, "the script waits: space", "paused"),
            )
            if true
        ]
        fits = sum(len(long) + _BETWEEN for long, _ in found) <= room
        return [long if fits else short for long, short in found]
