"""Profiles made by the program of 67f8678 (`SDC1`, schema 2) open, migrate and go on talking.

In profiles/67f8678.tar.gz ann and bob have each other's first message. Then bob left, and ann wrote to the channel and
to him; then ann left, and bob did the same. Their clocks were a year behind.
"""

from __future__ import annotations

import asyncio
import tarfile
from pathlib import Path

from sdschat.identity.content import Verdict
from sdschat.node.events import DirectSaid, MessageDelivered, TroubleMet
from sdschat.node.view.conversations import Conversations
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from tests.node.catching import start, stop
from tests.node.worlds import Member, world

PROFILES = Path(__file__).parent / "profiles" / "67f8678.tar.gz"
TOGETHER = ["ann: the first one", "bob: an answer"]
ALONE = {"ann": "ann: while bob was away", "bob": "bob: while ann was away"}


def unpack(folder: Path) -> None:
    with tarfile.open(PROFILES) as archive:
        archive.extractall(folder, filter="data")


def shown(member: Member) -> list[tuple[str, str]]:
    view = Conversations(member.node)
    try:
        return [(message.text or "", message.verdict) for message in view.channel("lobby").messages()]
    finally:
        view.close()


def test_they_show_what_they_had(tmp_path: Path) -> None:
    unpack(tmp_path)

    async def story() -> None:
        async with world(tmp_path) as w:
            for name in ("ann", "bob"):
                member = start(w, name)
                told = shown(member)
                assert [text for text, _ in told] == [*TOGETHER, ALONE[name]]
                assert {verdict for _, verdict in told} <= {Verdict.KNOWN, Verdict.NEW}
                assert not member.of(TroubleMet)
                await stop(w, member)

    asyncio.run(story())


def test_what_waited_comes_and_what_is_new_has_a_signed_place(tmp_path: Path) -> None:
    unpack(tmp_path)

    async def story() -> None:
        async with world(tmp_path) as w:
            ann, bob = start(w, "ann"), start(w, "bob")
            for member, other in ((ann, "bob"), (bob, "ann")):
                await member.until_texts(ALONE[other])
                (came,) = member.of(MessageDelivered)
                assert came.said.opened.verdict is Verdict.UNSIGNED  # `SDC1`: its place is not signed
                await member.until(StateChanged, lambda s: s.state is AckState.ACKED)
            direct = await bob.until(DirectSaid, lambda d: not d.own)
            assert direct.opened.text == "between us, while you were away"
            assert (await ann.until(DirectSaid, lambda d: not d.own)).opened.text == "and this for you"
            ann.node.send("lobby", "ann: something new")
            new = await bob.until(MessageDelivered, lambda m: m.said.opened.text == "ann: something new")
            assert new.said.opened.verdict is Verdict.KNOWN
            assert new.said.opened.place is not None
            assert new.said.opened.place.sequence == 1
            sent = new.said.message.message_id
            await ann.until(StateChanged, lambda s: s.message_id == sent and s.state is AckState.ACKED)
            assert sorted(text for text, _ in shown(ann)) == sorted(text for text, _ in shown(bob))
            assert len(shown(ann)) == 5

    asyncio.run(story())
