"""The commands that say whose messages are shown."""

from __future__ import annotations

from tests.tui.stage import Stage, staged
from tests.tui.test_talk import all_here


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_who_is_muted_is_not_shown_until_shown_again(s: Stage) -> None:
    await all_here(s)
    await s.enter("/mute bob")
    assert "what bob says is not shown from now on" in s.hint()
    s.peers["bob"].node.send("lobby", "noise")
    s.peers["carol"].node.send("lobby", "good day")
    await s.until(lambda: any("good day" in line for line in s.log()))
    assert not any("noise" in line for line in s.log())
    await s.enter("/unmute bob")
    s.peers["bob"].node.send("lobby", "sorry")
    await s.until(lambda: any("sorry" in line for line in s.log()))


@staged(peers=("bob",), syncs=True)
async def test_what_cannot_be_muted_is_said(s: Stage) -> None:
    await all_here(s)
    await s.enter("/mute nobody")
    assert "Nobody called nobody is known" in s.hint()
