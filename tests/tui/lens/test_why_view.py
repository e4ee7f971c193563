"""The view `why`, on real nodes: who has a message, how that is known, and what keeps one out of the log."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import HandedOver, MessageDelivered, PresenceChanged
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.conversations import Conversations
from sdschat.node.view.values import OwnFate
from sdschat.sds.events import StateChanged
from sdschat.sds.values import AckState
from sdschat.tui.lens import why
from sdschat.tui.lens.view_input import plain
from sdschat.tui.model.words import UNICODE
from tests.tui.lens.looking import ROOM, looking
from tests.tui.lens.losing import ONLY_REPAIR, SLOW_REPAIR, beginning, hear


def test_why_names_the_packet_and_the_peer_that_acknowledged(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            await look.own.until(PresenceChanged)
            mine = look.say("ann", "is anybody there?")
            await look["bob"].until_texts("is anybody there?")
            answer = look.say("bob", "I am")
            told = await look.own.until(StateChanged, lambda s: s.message_id == mine and s.state is AckState.ACKED)
            assert told.evidence is not None
            shown = await look.until("why", "acked: bob names it in the causal history of", selection=mine)
            assert shown.index("bob is known to have it.") < shown.index("acked: bob names it")
            assert "written: saved here, in the log" in shown
            assert "handed to the broker" in shown
            assert told.evidence.packet_id[:4] in (answer[:4], "sync")

    asyncio.run(story())


def test_why_says_that_nobody_is_there(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, changes=ONLY_REPAIR) as look:
            mine = look.say("ann", "hello?")
            await look.own.until(MessageDelivered)
            shown = await look.until("why", "sent once", selection=mine)
            assert "Nobody else was heard" in " ".join(shown.split())
            assert "next: sent again in" in shown
            Injection(look.own.node, ROOM).offline(True)
            await look.until("why", "There is no connection.", selection=mine)

    asyncio.run(story())


def test_why_knows_the_evidence_of_an_earlier_run(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            mine = look.say("ann", "hello")
            await look.until("why", "acked:", selection=mine)
            fresh = type(look.eye)(look.own.node, look.eye._view)
            try:
                shown = "\n".join(plain(line) for line in fresh.lines("why", ROOM, mine))
                assert "bob" in shown
                assert "names it" in shown or "equals ours" in shown
            finally:
                fresh.close()

    asyncio.run(story())


def test_why_tells_what_keeps_a_message_out_of_the_log(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", changes=SLOW_REPAIR) as look:
            await beginning(look)
            now = look.own.node.clock.now().wall
            hear(look, "E1", now, "E0")
            hear(look, "E2", now + 3_600_000)
            await look.until("why", "not in the log yet: waits for E0", selection="E1")
            await look.until("why", "dated too far ahead: kept back until", selection="E2")

    asyncio.run(story())


def test_a_message_that_waits_is_found_by_its_id_as_it_is_written(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", changes=SLOW_REPAIR) as look:
            await beginning(look)
            hear(look, "E1", look.own.node.clock.now().wall, "E0")
            await look.until("why", "waits for E0", selection="E1")
            log = Conversations(look.own.node).channel(ROOM)
            assert log.find_ids("E") == ["E1"]
            assert log.find_ids("F") == []

    asyncio.run(story())


def test_why_without_a_selection_tells_of_the_newest_message_of_ours(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            assert "none is here" in look.text("why", width=100)
            look.say("ann", "the first of mine")
            look.say("ann", "the second of mine")
            await look["bob"].until_texts("the first of mine", "the second of mine")
            look.say("bob", "not mine")
            await look.own.until_texts("the first of mine", "the second of mine", "not mine")
            assert "the second of mine" in look.text("why")

    asyncio.run(story())


def test_why_calls_a_message_queued_that_was_never_sent(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            said = look.say("ann", "what time is it?")
            await look.own.until(HandedOver)
            seen = look.eye._view_input(ROOM, said, "", 100, UNICODE)
            waits = seen._replace(fate=lambda _: OwnFate(AckState.UNACKED, 0, 0, ()))
            assert f"{UNICODE.queued} queued, not sent yet" in "\n".join(map(plain, why.view(waits)))
            sent = seen._replace(fate=lambda _: OwnFate(AckState.UNACKED, 1, 0, ()))
            assert f"{UNICODE.unacked} unacked, sent once" in "\n".join(map(plain, why.view(sent)))

    asyncio.run(story())
