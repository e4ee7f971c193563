"""The view that explains one message: its steps in order, each once, and the cause of each copy that was sent again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import MessageDelivered, NodeEvent
from sdschat.node.view.values import OwnFate
from sdschat.sds.events import DuplicateReceived, MessageResent, Pushed, RepairResponded
from sdschat.sds.values import AckState, Evidence, Message
from sdschat.tui.lens import why
from sdschat.tui.lens.trace import UNPROVEN, LensTrace
from sdschat.tui.lens.view_input import plain
from sdschat.tui.lens.why import unasked
from sdschat.tui.model.words import UNICODE
from sdschat.wire.sds_codec import SdsCodec
from tests.tui.lens.looking import ROOM, looking
from tests.tui.lens.losing import ONLY_REPAIR, lose_one


def test_a_repaired_message_is_told_in_order_and_each_step_once(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob", "eve", changes=ONLY_REPAIR) as look:
            lost = await lose_one(look)
            await look.own.until(MessageDelivered, lambda body: body.said.message.message_id == lost)
            shown = await look.until(
                "why", "came by repair, as the answer to a request", "took its place", selection=lost
            )
            assert shown.index("names it, and it is not here") < shown.index("we ask in")
            assert "no answer" not in shown
            assert "arrived" not in shown

    asyncio.run(story())


def test_each_copy_that_we_sent_again_has_its_cause(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path) as look:
            mine = look.say("ann", "again and again")
            await look.own.until(MessageDelivered)
            now = look.own.node.clock.now().wall
            for body in (
                MessageResent(mine, AckState.UNACKED, 3),
                MessageResent(mine, AckState.POSSIBLY_ACKED, 4),
                RepairResponded(mine),
                Pushed(mine),
            ):
                look.eye.hear(NodeEvent(ROOM, now, body))
            shown = look.text("why", mine, width=100)
            assert "sent again, the 3rd time: a resend, for nobody has acknowledged it" in shown
            assert "sent again, the 4th time: a resend, for it is acknowledged only perhaps" in shown
            assert "sent again: the answer to a request" in shown
            assert "sent again: a push, for a filter that lacked it" in shown

    asyncio.run(story())


def test_what_the_broker_did_not_take_is_queued(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            mine = look.say("ann", "the broker hangs")
            await look.own.until_texts("the broker hangs")
            view = look.eye._view_input(ROOM, mine, "", 100, UNICODE)
            for timed in [one for one in view.trace.steps[mine] if not isinstance(one.body, MessageDelivered)]:
                view.trace.steps[mine].remove(timed)
            peek = view.peek._replace(online=True)
            hung = view._replace(peek=peek, fate=lambda _: OwnFate(AckState.UNACKED, 1, 0, ()))
            shown = "\n".join(map(plain, why.view(hung)))
            assert "The broker has not taken it yet, so nobody could confirm it." in shown
            assert "queued, not taken by the broker yet" in shown
            assert "sent once" not in shown

    asyncio.run(story())


def test_copies_that_came_again_and_again_are_one_line(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            theirs = look.say("bob", "heard often")
            await look.own.until_texts("heard often")
            now = look.own.node.clock.now().wall
            for later in range(3):
                body = DuplicateReceived(theirs, look["bob"].node.sender_id)
                look.eye.hear(NodeEvent(ROOM, now + later, body))
            assert "came once more (3 times, the last at" in look.text("why", theirs, width=100)

    asyncio.run(story())


def test_the_cause_of_a_message_that_came_by_sync_is_what_the_packets_show(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            theirs = look.say("bob", "late")
            await look.own.until_texts("late")
            view = look.eye._view_input(ROOM, theirs, "", 100, UNICODE)
            shown, raw = view.message(theirs), view.raw(theirs)
            assert shown is not None
            assert raw is not None
            message = SdsCodec().decode(raw)
            assert isinstance(message, Message)
            written, came = shown.lamport, shown.lamport + 60_000

            def cause(why: str, *ours: int) -> str:
                trace = LensTrace(view.peek.me)
                trace.add(view.trace.log[theirs])
                for at in sorted([written - 1000, *ours]):
                    trace.see(at, "sync", b"ours", None)
                trace.see(came, why, raw, message)
                return unasked(view._replace(trace=trace), shown._replace(via="sync"))

            assert cause("live").startswith("a resend of its author; no filter of ours went out meanwhile")
            assert "a resend of its author, or a push" in cause("live", written + 30_000)
            assert "a comparison of the logs" in cause("sync", written + 30_000)

    asyncio.run(story())


def test_a_later_message_that_is_known_does_not_prove_the_one_before_and_it_is_said_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            first, second, third = (look.say("ann", text) for text in ("first", "second", "third"))
            await look.own.until_texts("first", "second", "third")
            bob = look["bob"].node.sender_id
            view = look.eye._view_input(ROOM, first, "", 300, UNICODE)
            perhaps = Evidence(bob, "filter", "p", 1, 1e-4)
            shown = view._replace(fate=lambda _: OwnFate(AckState.POSSIBLY_ACKED, 1, 0, (perhaps,)))
            says = "which follows it. This proves nothing here: a program that joined in between"
            view.trace.peers.pop(bob, None)
            assert says not in "\n".join(map(plain, why.view(shown)))
            view.trace.peer(bob).prove(third, UNPROVEN)
            assert says not in "\n".join(map(plain, why.view(shown))), "nobody is known to have a later one"
            view.trace.peer(bob).prove(third, "mention")
            text = "\n".join(map(plain, why.view(shown)))
            assert f"is known to have {third[:4]}, {says}, or gave this one up as lost" in text
            assert "perhaps" in text
            last = view._replace(selection=third, fate=shown.fate)
            assert says not in "\n".join(map(plain, why.view(last))), "nothing follows the last one"
            assert second

    asyncio.run(story())


def test_one_name_for_what_came_by_sync(tmp_path: Path) -> None:
    async def story() -> None:
        async with looking(tmp_path, "bob") as look:
            look.say("bob", "late")
            found = await look.own.until(MessageDelivered, lambda body: not body.said.own)
            now = look.own.node.clock.now().wall
            look.eye.hear(NodeEvent(ROOM, now, found._replace(via="sync")))
            assert ", came by sync: late" in look.text("events", width=120)

    asyncio.run(story())
