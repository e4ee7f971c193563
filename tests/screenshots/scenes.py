"""The scenes of the pictures. The conversation, the keys of the participants and the faults are the same every time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from textual.pilot import Pilot

from sdschat.identity.keyfile import load_or_create
from sdschat.node.events import CatchingUp, NodeEvent
from sdschat.node.network import MqttNetwork
from sdschat.node.node import Node
from sdschat.node.profile import database_path, open_profile
from sdschat.node.settings import Settings, Value, make_settings
from sdschat.node.sync import extension
from sdschat.node.sync.history_sync import TELL_EVERY
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.tools.local_group import LocalGroup
from sdschat.node.view.conversations import Conversations
from sdschat.transport.address import LOCAL, Address
from sdschat.transport.mqtt_options import MqttOptions
from sdschat.tui.app import ChatApp
from sdschat.tui.preferences import Preferences

CHANNEL: Final = "harbour"
PEERS: Final = ("bob", "carol", "dave")
PATIENCE: Final = 60.0
TALK: Final = (
    ("bob", "good morning! the ferry is late again"),
    ("carol", "the timetable says 07:40, the sea says otherwise"),
    ("ann", "who has the keys to the boathouse?"),
    ("dave", "I do. They are with me until noon, see https://harbour.example/keys"),
    ("ann", "thanks dave, I will be there at ten"),
    ("carol", "@ann could you bring the long rope?"),
    ("bob", "wind 5 from the west,\ngusts of 7 in the afternoon,\nso better before lunch"),
    ("ann", "will do"),
)

_MANY: Final = 400
_ENTRIES: Final = ("left the harbour on time", "fog, half speed", "moored at gate 3", "full, ten had to wait")


class Scene(NamedTuple):
    """One picture, and the texts that must be on it."""

    name: str
    title: str
    size: tuple[int, int]
    expected: tuple[str, ...]


SCENES: Final[Mapping[str, Scene]] = {
    scene.name: scene
    for scene in (
        Scene("chat", "sdschat join harbour", (110, 26), ("ferry is late", "2/3", "boathouse", "4 here", "rope")),
        Scene(
            "repair",
            "a gap, and its repair under way",
            (140, 30),
            ("missing, and one by carol waits for it", "T_req", "T_resp"),
        ),
        Scene("graph", "/graph", (140, 30), ("who wrote knowing of what", "● ", "? ", "wind 5", "missing")),
        Scene("why", "/why", (140, 26), ("acked:", "written: saved here", "handed to the broker")),
        Scene("small", "50 columns", (50, 15), ("will do",)),
        Scene("light", "the light theme, and /matrix", (140, 30), ("who is known to hold what", "bob", "proven")),
        Scene("direct", "/msg: to one alone", (110, 20), ("only carol and you read this", "✓", "spare key")),
        Scene(
            "older",
            "what was said before, loaded in part",
            (110, 20),
            ("is not loaded any further, paused at", "⋅ /load resume", "3 here"),
        ),
        Scene("offline", "no broker", (110, 20), ("OFFLINE", "queued", "outbox")),
    )
}
Shot = Callable[[str, ChatApp], None]


class Camera:
    """An application that is driven and photographed."""

    def __init__(self, app: ChatApp, pilot: Pilot[Any], shoot: Shot) -> None:
        self.app = app
        self.pilot = pilot
        self._shoot = shoot

    def text(self) -> str:
        strips = self.app.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not condition():
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{what} never came to pass; the screen was:\n{self.text()}") from None

    async def until_text(self, *texts: str) -> None:
        for text in texts:
            await self.until(lambda text=text: text in self.text(), repr(text))  # type: ignore[misc]

    async def enter(self, line: str) -> None:
        self.app.composer.put(line)
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def shoot(self, name: str) -> None:
        """Once everything that is to be on the picture is there."""
        scene = SCENES[name]
        await self.pilot.resize_terminal(*scene.size)
        await self.pilot.pause()
        await self.until(lambda: all(text in self.text() for text in scene.expected), str(scene.expected))
        self._shoot(name, self.app)


@contextlib.asynccontextmanager
async def camera(node: Node, shoot: Shot, name: str, theme: str | None = None) -> AsyncIterator[Camera]:
    view = Conversations(node)
    app = ChatApp(view, [CHANNEL], Preferences(bell=False), theme_now=theme)
    try:
        async with app.run_test(size=SCENES[name].size) as pilot:
            yield Camera(app, pilot, shoot)
    finally:
        view.close()


def settings(more: Mapping[str, Value] | None = None) -> Settings:
    """Timers with quick acknowledgements and a slow repair, so that the picture shows the repair under way."""
    timers: dict[str, Value] = {"sds.sync_interval": 1500, "repair.t_min": 60_000, "repair.t_max": 120_000}
    return make_settings(
        {**timers, "sds.lost_after": 600_000, "push.enabled": False, "fault.seed": 1, **(more or {})}, "demo"
    )


def prepare_key(folder: Path, nick: str) -> None:
    """A participant with the same key, and so the same colour, every time."""
    profile = database_path(folder, nick).parent
    profile.mkdir(parents=True, mode=0o700)
    load_or_create(profile, lambda size: hashlib.sha256(f"picture of {nick}".encode()).digest()[:size])


async def take_all(folder: Path, shoot: Shot) -> None:
    """All pictures, in one run."""
    for nick in (*PEERS, "ann"):
        prepare_key(folder, nick)
    group = LocalGroup(folder, settings(), CHANNEL)
    await group.admit(PEERS)
    ann = group.open("ann")
    try:
        async with camera(ann, shoot, "chat") as shown:
            await _talk(group, shown)
            await _repair(group, shown)
            await _look(shown)
        async with camera(ann, shoot, "light", "light") as shown:
            await shown.enter("/lens matrix")
            await shown.shoot("light")
    finally:
        await group.close()
    await _offline(folder, group.port, shoot)
    await _newcomer(folder / "newcomer", shoot)


async def _talk(group: LocalGroup, shown: Camera) -> None:
    await shown.until_text("4 here")
    for nick, text in TALK:
        if text == TALK[-1][1]:  # what dave writes is lost, so that ann's last message is seen on its way
            Injection(group.nodes["dave"], CHANNEL).share("loss", 1.0, "out")
        if nick == "ann":
            shown.app.send(text)
        else:
            group.nodes[nick].send(CHANNEL, text)
        await shown.until_text(text.split("\n")[-1][:30])
        await _heard_by_all(group)
        if nick == "ann" and text != TALK[-1][1]:  # before others write: a short history would not name it any more
            await shown.until(lambda: "○" not in shown.text(), f"all have {text!r}")
    await shown.until_text("2/3")
    await shown.shoot("chat")
    await shown.shoot("small")
    Injection(group.nodes["dave"], CHANNEL).off()
    await shown.pilot.resize_terminal(*SCENES["chat"].size)


async def _heard_by_all(group: LocalGroup) -> None:
    """Wait until all logs are equal, so that each message names the one before it, and the graph is the same every
    time."""
    async with asyncio.timeout(PATIENCE):
        while not group.equal_logs():
            await asyncio.sleep(0.02)


async def _heard_by_carol(group: LocalGroup, messages: int) -> None:
    """Wait until carol's log has so many messages."""
    async with asyncio.timeout(PATIENCE):
        while group.log_state("carol").messages < messages:
            await asyncio.sleep(0.02)


async def _repair(group: LocalGroup, shown: Camera) -> None:
    """Bob sends a message that ann does not receive, and carol one that names it."""
    await shown.enter("/fault partition bob")
    group.nodes["bob"].send(CHANNEL, "the ferry is here, gate 3")
    await _heard_by_carol(group, len(TALK) + 1)
    group.nodes["carol"].send(CHANNEL, "then I shall be on it in a minute")
    await shown.pilot.resize_terminal(*SCENES["repair"].size)
    await shown.enter("/lens repair")
    await shown.shoot("repair")


async def _look(shown: Camera) -> None:
    await shown.enter("/graph")
    await shown.shoot("graph")
    own = next(shown_ for shown_ in shown.app.view.channel(CHANNEL).messages() if shown_.own)
    await shown.enter(f"/why {own.message_id[:8]}")
    await shown.shoot("why")


async def _offline(folder: Path, port: int, shoot: Shot) -> None:
    """Ann again, when there is no broker any more."""
    chosen = settings()
    network = MqttNetwork(MqttOptions(Address(LOCAL.scheme, LOCAL.host, port)), chosen, embedded=False)
    node = Node(open_profile(database_path(folder, "ann"), chosen), "ann", chosen, network)
    try:
        async with camera(node, shoot, "offline") as shown:
            await shown.until_text("OFFLINE")
            shown.app.send("nobody hears this yet, and it is not lost")
            await shown.shoot("offline")
    finally:
        await node.close(0.1)


async def _newcomer(folder: Path, shoot: Shot) -> None:
    """Ann comes when bob has said much, and fetches it; then she and carol talk alone."""
    for nick in ("bob", "carol", "ann"):
        prepare_key(folder, nick)
    group = LocalGroup(folder, settings({"history.on_join": "none", "sds.max_skew": 1}), CHANNEL)
    await group.admit(("bob", "carol"), extension.install)
    ann = group.open("ann", extension.install)
    try:
        for number in range(_MANY):
            group.nodes["bob"].send(
                CHANNEL, f"log of the ferry, entry {number + 1}: {_ENTRIES[number % len(_ENTRIES)]}"
            )
            await asyncio.sleep(0)
        await _heard_by_carol(group, _MANY)
        async with camera(ann, shoot, "older") as shown:
            await shown.until_text("3 here")
            await _load(ann, shown)
            await _talk_alone(group, shown)
    finally:
        await group.close()


async def _load(ann: Node, shown: Camera) -> None:
    """It is paused as soon as there is a part of it; slowed down, so that this is told before all of it came. On a busy
    machine some of bob's messages come live before."""
    slow, pausing = Injection(ann, CHANNEL), list[asyncio.Future[None]]()

    def hear(event: NodeEvent) -> None:
        if not pausing and isinstance(event.body, CatchingUp) and 0 < event.body.done < event.body.total:
            pausing.append(asyncio.ensure_future(shown.app.input_handler.run("/load pause")))

    ann.listen(hear)
    slow.delay(2 * TELL_EVERY + 200, "in")
    await shown.enter("/load")
    await shown.until(lambda: bool(pausing), "a part of it")
    slow.off()
    await shown.enter("/start")
    await shown.shoot("older")
    await shown.enter("/load resume")
    model = shown.app.model
    await shown.until(lambda: model.history is not None and model.history.state == "done", "the end of loading")


async def _talk_alone(group: LocalGroup, shown: Camera) -> None:
    await shown.enter("/msg carol I have left the spare key under the bench")
    await shown.until_text("✓")
    extension.sync_extension(group.nodes["carol"], CHANNEL).direct.send(
        group.nodes["ann"].sender_id, "found it, thank you"
    )
    await shown.until_text("found it")
    await shown.shoot("direct")
