"""The three members: real nodes with a database each, in a members' channel, and the script that they play.

An edit, a deletion, and one who goes silent, is put out, and comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import chain, cycle
from pathlib import Path
from typing import Any, Final, NamedTuple

from sdschat.node.events import MemberStatusChanged, NodeEvent, PostSaid
from sdschat.node.members.opening import install
from sdschat.node.node import Node
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.tools.local_group import LocalGroup
from sdschat.node.view.members import create, members_of
from sdschat.tui.theatre.player import ScriptPace
from sdschat.tui.theatre.watched_group import WatchedGroup

MEMBERS: Final = ("ann", "bob", "cleo")
FOUNDER: Final = MEMBERS[0]
WORD: Final = "wombat"  # of the post that is taken back


class MembersDeed(StrEnum):
    INVITE = "invite"  # and wait until they are members
    SAY = "say"
    EDIT = "edit"  # their last post
    DELETE = "delete"  # their last post
    SETTLE = "settle"  # wait until all have settled the same
    SEARCH = "search"  # the files of all profiles for the word
    VANISH = "vanish"  # wait until no file has the word
    SILENCE = "silence"
    PUT_OUT = "put out"  # wait until the others have put them out
    HEAR = "hear"  # end the silence
    TELL = "tell"


class MembersAct(NamedTuple):
    pause: float  # seconds before it
    deed: MembersDeed
    who: str = ""
    text: str = ""


def _say(*lines: tuple[str, str], pause: float = 1.0) -> list[MembersAct]:
    return [MembersAct(pause, MembersDeed.SAY, who, text) for who, text in lines]


def _tell(text: str, pause: float = 1.5) -> MembersAct:
    return MembersAct(pause, MembersDeed.TELL, text=text)


ACTS: Final = (
    _tell("ann made this members' channel. bob and cleo knock, and ann lets them in.", 0.3),
    MembersAct(1.0, MembersDeed.INVITE, "bob"),
    MembersAct(0.5, MembersDeed.INVITE, "cleo"),
    *_say(("ann", "welcome to the garden"), ("bob", "hello"), ("cleo", "hello, all")),
    MembersAct(0.5, MembersDeed.SETTLE),
    _tell("Settled is what all members have, in one order for good; the number at a name counts what they did."),
    _tell("bob changes what he said: an edited post says so."),
    *_say(("bob", "see you at nine")),
    MembersAct(1.5, MembersDeed.EDIT, "bob", "see you at ten"),
    MembersAct(0.5, MembersDeed.SETTLE),
    _tell("ann says too much. All have it on their disks."),
    *_say(("ann", f"the key is under the {WORD}")),
    MembersAct(0.5, MembersDeed.SETTLE),
    MembersAct(1.0, MembersDeed.SEARCH),
    _tell("She takes it back. Once all have settled that, it is on no disk any more."),
    MembersAct(1.0, MembersDeed.DELETE, "ann"),
    MembersAct(0.5, MembersDeed.VANISH),
    MembersAct(0.5, MembersDeed.SEARCH),
    _tell("Now cleo hears nobody, and nobody hears her. Nothing is settled without her while she is a member.", 3.0),
    MembersAct(0.5, MembersDeed.SILENCE, "cleo"),
    *_say(
        ("cleo", "does anybody hear me?"),
        ("ann", "shall we go on?"),
        ("bob", "cleo says nothing"),
        ("ann", "we wait for her word"),
        ("bob", "she is silent"),
        ("ann", "then we put it to the vote"),
        ("bob", "I agree"),
        pause=0.8,
    ),
    MembersAct(0.3, MembersDeed.PUT_OUT, "cleo"),
    _tell("ann and bob, two of three, voted that she is put out for silence. So they settle again, without her.", 0.3),
    *_say(("ann", "we go on")),
    MembersAct(1.0, MembersDeed.SETTLE),
    _tell("cleo hears them again. ann lets her in anew, and what she said to nobody is written for all, once."),
    MembersAct(0.5, MembersDeed.HEAR, "cleo"),
    MembersAct(0.5, MembersDeed.INVITE, "cleo"),
    *_say(("cleo", "here I am again")),
    MembersAct(0.5, MembersDeed.SETTLE),
    _tell("All three have settled the same. It begins again; q quits.", 0.5),
    _tell("", 6.0),
)
# From the second time on: all are members already.
LATER_ACTS: Final = (_tell("All three are members from before, and nobody knocks.", 0.3), *ACTS[3:])

_PATIENCE: Final = 30.0  # seconds that an act waits for what it wants to see
_LOOK: Final = 0.1
_FOUND: Final = 56  # letters of the line about a search
_LETTER: Final = 0.045  # seconds in which one reads a letter of a line that is told


class WordSearch(NamedTuple):
    """The result of a search of all files for the word."""

    having: int
    files: int


class MembersGroup(WatchedGroup):
    """The three, their last posts, and those that are silent."""

    def __init__(self, group: LocalGroup, folder: Path) -> None:
        super().__init__(group)
        self.silent: set[str] = set()
        self.put_out = 0  # times that somebody was put out
        self.said: list[str] = []  # texts that the founder has heard, in their order
        self._folder = folder
        self._last: dict[str, str] = {}  # the last post of each, by nick

    async def open(self) -> None:
        """Start all nodes. Raises TimeoutError if no broker could be started."""
        await self.group.admit(MEMBERS, self._present)

    def _present(self, node: Node) -> None:
        install(node)
        if node.nick == FOUNDER:
            create(node, self.group.channel)
        self.watch(node, self._count if node.nick == FOUNDER else lambda event: None)

    def _count(self, event: NodeEvent) -> None:
        """Count what the founder hears."""
        if isinstance(event.body, MemberStatusChanged):
            self.put_out += event.body.status == "evicted"
        elif isinstance(event.body, PostSaid):
            self.said.append(event.body.post.text)

    # What they do.

    def say(self, nick: str, text: str) -> None:
        self._last[nick] = self.group.nodes[nick].say(self.group.channel, text)

    def edit(self, nick: str, text: str) -> None:
        members_of(self.group.nodes[nick], self.group.channel).edit(self._last[nick], text)

    def delete(self, nick: str) -> None:
        members_of(self.group.nodes[nick], self.group.channel).delete(self._last[nick])

    def invite(self, nick: str) -> bool:
        """Let somebody in, if they are out. Return True once they are a member."""
        if self.is_member(nick):
            return True
        try:
            members_of(self._founder, self.group.channel).invite(self.group.nodes[nick].sender_id)
        except ValueError:
            return False  # not seen yet, or invited already
        return False

    def silence(self, nick: str, silent: bool) -> None:
        """Lose all packets of a node in both directions, or no more."""
        (self.silent.add if silent else self.silent.discard)(nick)
        Injection(self.group.nodes[nick], self.group.channel).share("loss", 1.0 if silent else 0.0)

    # What is seen of them.

    @property
    def _founder(self) -> Node:
        return self.group.nodes[FOUNDER]

    def settled(self, nick: str) -> int | None:
        """Return the number of operations that somebody has settled; None before they were let in."""
        found = self.group.nodes[nick].sessions[self.group.channel].members
        return None if found is None or not found.engine.checkpoint.number else found.engine.checkpoint.number

    def is_member(self, nick: str) -> bool:
        """True if somebody is a member, as they and the founder see it."""
        found = self.group.nodes[nick].sessions[self.group.channel].members
        if found is None or found.engine.me is None:
            return False
        keys = {one.key for one in members_of(self._founder, self.group.channel).engine.members()}
        return self.group.nodes[nick].gate.identity.public_key in keys

    def equal(self) -> bool:
        """True if all who are members have settled the same, and nothing of theirs is open."""
        engines = [
            members_of(self.group.nodes[nick], self.group.channel).engine for nick in MEMBERS if self.is_member(nick)
        ]
        return len({one.checkpoint for one in engines}) == 1 and not any(one.open_events() for one in engines)

    async def search(self) -> WordSearch:
        """Search all files of all profiles for the word, as `grep -c` would."""
        return await asyncio.to_thread(self._search)

    def _search(self) -> WordSearch:
        paths = [path for path in self._folder.rglob("*") if path.is_file()]
        return WordSearch(sum(WORD.encode() in _content(path) for path in paths), len(paths))


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # a socket, or a file that has gone meanwhile
        return b""


class MembersPlayer(ScriptPace):
    """Plays the acts. `tell` shows a line; `late` names the acts that did not see in time what they waited for."""

    def __init__(self, watched: MembersGroup, tell: Callable[[str], object]) -> None:
        super().__init__()
        self.searches: list[WordSearch] = []
        self.late: list[str] = []
        self._watched = watched
        self._tell = tell

    async def play(self) -> None:
        """Play the acts again and again."""
        await self._play(chain(ACTS, cycle(LATER_ACTS)), 1.0)

    async def play_once(self, pace: float) -> None:
        """Play the acts once. `pace`: 1 with all pauses, 0 with none."""
        await self._play(ACTS, pace)

    async def _play(self, acts: Iterable[MembersAct], pace: float) -> None:
        read_at = 0.0  # when the line that was told last is read
        loop = asyncio.get_running_loop()
        for act in acts:
            tells = act.deed in (MembersDeed.TELL, MembersDeed.SEARCH)
            await self.wait(max(act.pause, read_at - loop.time() if tells else 0.0) * pace)
            await self._do(act)
            if tells:
                read_at = loop.time() + _LETTER * (len(act.text) or _FOUND)

    async def _do(self, act: MembersAct) -> None:
        watched = self._watched
        match act.deed:
            case MembersDeed.SAY:
                watched.say(act.who, act.text)
            case MembersDeed.EDIT:
                watched.edit(act.who, act.text)
            case MembersDeed.DELETE:
                watched.delete(act.who)
            case MembersDeed.TELL:
                self._tell(act.text)
            case MembersDeed.SILENCE | MembersDeed.HEAR:
                watched.silence(act.who, act.deed is MembersDeed.SILENCE)
            case MembersDeed.SEARCH:
                found = await watched.search()
                self.searches.append(found)
                self._tell(f"“{WORD}” is in {found.having} of the {found.files} files of the three profiles.")
            case MembersDeed.INVITE:
                await self._until(act, lambda: watched.invite(act.who))
            case MembersDeed.SETTLE:
                await self._until(act, watched.equal)
            case MembersDeed.PUT_OUT:
                await self._until(act, lambda: not watched.is_member(act.who))
            case MembersDeed.VANISH:
                await self._vanished(act)

    async def _until(self, act: MembersAct, condition: Callable[[], bool]) -> None:
        end = self._end()
        while not condition():
            if self._is_late(act, end):
                return
            await asyncio.sleep(_LOOK)

    async def _vanished(self, act: MembersAct) -> None:
        end = self._end()
        while (await self._watched.search()).having:
            if self._is_late(act, end):
                return
            await asyncio.sleep(_LOOK)

    def _end(self) -> float:
        return asyncio.get_running_loop().time() + _PATIENCE

    def _is_late(self, act: MembersAct, end: float) -> bool:
        """Return True, and note the act, if it waits for too long, or the next one is to be played."""
        if not self.steps and asyncio.get_running_loop().time() <= end:
            return False
        self.late.append(f"{act.deed} {act.who}".rstrip())
        return True

    def summary(self) -> dict[str, Any]:
        """Return what was seen, for a program."""
        before, after = (self.searches + [WordSearch(0, 0)] * 2)[:2]
        watched = self._watched
        return {
            "files_with_the_word_before": before.having,
            "files_with_the_word_after": after.having,
            "put_out": watched.put_out,
            "members": sum(map(watched.is_member, MEMBERS)),
            "came_back_once": watched.said.count("does anybody hear me?") == 1,
            "equal": watched.equal(),
            "late": self.late,
        }


def good(summary: dict[str, Any]) -> bool:
    """True if everything happened as the script tells it."""
    return (
        summary["files_with_the_word_before"] > 0
        and not summary["files_with_the_word_after"]
        and summary["put_out"] > 0
        and summary["members"] == len(MEMBERS)
        and summary["came_back_once"]
        and summary["equal"]
        and not summary["late"]
    )
