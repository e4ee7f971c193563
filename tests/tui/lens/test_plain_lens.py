"""The views of the Lens without a screen."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

from sdschat.node.view.conversations import Conversations
from sdschat.tui.lens.inspector import VIEWS
from sdschat.tui.plain.host import PlainHost
from sdschat.tui.preferences import Preferences
from tests.node.worlds import world


def test_every_view_is_told_in_lines(tmp_path: Path) -> None:
    async def story() -> None:
        async with world(tmp_path) as w:
            ann = w.start("ann")
            sent = ann.node.send("lobby", "look at this")
            await ann.until_texts("look at this")
            view, out = Conversations(ann.node), io.StringIO()
            try:
                host = PlainHost(view, ["lobby"], Preferences(), out)
                host.start([])
                for name in VIEWS:
                    assert await host.input_handler.submit(f"/lens {name}")
                assert await host.input_handler.submit(f"/why {sent.message_id[:6]}")
                assert await host.input_handler.submit("/lens")
                assert not await host.input_handler.submit("/lens nonsense")
            finally:
                view.close()
            told = out.getvalue()
            for words in ("what we miss", "who wrote knowing of what", "our filter", "participants", "faults injected"):
                assert words in told
            assert f"message {sent.message_id[:8]} by you" in told
            assert "There is no view 'nonsense'" in told
            assert told.isascii()

    asyncio.run(story())
