"""The view `repair`, on real nodes: what is missing, who asks for it, and who answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import PresenceChanged
from sdschat.node.tools.fault_injection import Injection
from sdschat.sds.events import RepairRequested
from sdschat.sds.repair import determine_t_resp
from sdschat.tui.model.words import UNICODE
from tests.tui.lens.looking import ROOM, looking
from tests.tui.lens.losing import ONLY_REPAIR, SLOW_REPAIR, beginning, hear, lose_one


def test_why_and_repair_say_of_a_lost_message_that_there_is_nothing_to_do(tmp_path: Path) -> None:
    async def story() -> None:
        changes = ONLY_REPAIR | {"repair.enabled": False, "sds.lost_after": 400}
        async with looking(tmp_path, "bob", "eve", changes=changes) as look:
            lost = await lose_one(look)
            shown = await look.until("repair", "1 message lost here")
            assert "not asked for any more" in shown
            assert "it is sent and takes its place; there is nothing to do by hand" in look.text("why", lost, width=200)

    asyncio.run(story())


def test_repair_counts_down_to_the_request_and_says_who_would_answer_when(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", "eve", changes=SLOW_REPAIR) as look:
            lost = await lose_one(look)
            shown = await look.until("repair", lost[:4], "T_req: asking in", "by bob")
            assert shown.startswith("1 message missing here, asked for in 0")
            peek = look.eye._view_input(ROOM, None, "", 70, UNICODE).peek
            missing = next(each for each in peek.missing if each.message_id == lost)
            assert missing.due > peek.now
            bob, eve = look["bob"].node.sender_id, look["eve"].node.sender_id
            for peer, name in ((bob, "bob"), (eve, "eve")):
                after = determine_t_resp(0, peer, bob, lost, peek.t_max)
                assert f"{name} {'0 s' if peer == bob else ''}".strip() in shown
                assert (after == 0) == (peer == bob)

    asyncio.run(story())


def test_repair_names_the_carrier_of_the_request_and_the_end(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", "eve", changes=ONLY_REPAIR) as look:
            lost = await lose_one(look)
            asked = await look.own.until(RepairRequested, lambda r: lost in r.message_ids)
            shown = await look.until("repair", f"{lost[:4]} repaired, by bob")
            assert shown.startswith("Nothing is missing here, and ")
            assert "what we miss" in shown
            assert asked.carrier[:4] in await look.until("why", "asked for, with our packet", selection=lost)

    asyncio.run(story())


def test_the_other_side_shows_who_asked(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", "eve", changes=ONLY_REPAIR) as look:
            await look.own.until(PresenceChanged, lambda p: p.nick == "bob")
            # Eve never hears the request, or chance decides who answers it.
            Injection(look["eve"].node, ROOM).partition(look["bob"].node.sender_id, "bob")
            Injection(look["bob"].node, ROOM).share("loss", 1.0, "in")
            mine = look.say("ann", "bob misses this")
            await look["eve"].until_texts("bob misses this")
            Injection(look["bob"].node, ROOM).off()
            look.say("eve", "names it")
            await look.until("events", f"answer {mine[:4]} to be sent", "requested by bob")
            await look.until("repair", f"{mine[:4]} answered by us")

    asyncio.run(story())


def test_repair_tells_what_only_unsigned_packets_name(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", changes=SLOW_REPAIR) as look:
            await beginning(look)
            hear(look, "E1", look.own.node.clock.now().wall, "E0")
            shown = await look.until("repair", "name it: E0")
            assert "Nothing is missing here" in shown

    asyncio.run(story())
