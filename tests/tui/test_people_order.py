"""The list of people and the cells of a tick have one order, whoever came or spoke last."""

from __future__ import annotations

from tests.tui.stage import Stage, staged

CALLED = ("Dave", "bob", "carol", "bob12", "bob3")


@staged(peers=CALLED, size=(120, 30))
async def test_the_list_of_people_and_the_cells_have_one_order(s: Stage) -> None:
    for name in ("bob12", "bob", "Dave", "bob3", "carol"):
        s.say(f"{name} speaks", who=name)
        await s.until_text(f"{name} speaks")
        await s.until(lambda: len(s.app.model.present) == len(CALLED))
        people = [person for person in s.app.model.conversation.people() if not person.own]
        assert [person.nick for person in people] == ["bob", "bob3", "bob12", "carol", "Dave"]
        assert s.app.model.present == tuple(person.sender_id for person in people)
        lines = s.lines()
        where = [
            next(at for at, line in enumerate(lines) if f"▪ {one} " in line)
            for one in ("ann", "bob", "bob3", "bob12", "carol")
        ]
        assert where == [*range(where[0], where[0] + 5)], "so do they stand on the screen"
        assert "▪ Dave" in s.lines()[where[-1] + 1]


@staged(peers=("bob", "carol"), size=(100, 30))
async def test_who_is_not_here_is_called_so_in_every_list(s: Stage) -> None:
    s.say("I go")
    await s.until_text("I go")
    await s.until_text("3 here")
    await s.peers["bob"].node.close(0.1)
    await s.until_text("2 here")
    panel = [line[-23:].strip(" │") for line in s.lines()]
    assert panel.index("not here") > next(at for at, line in enumerate(panel) if line.startswith("▪ carol"))
    below = panel[panel.index("not here") + 1]
    assert below.startswith("▫ bob")
    assert below.endswith(("ago", "now")), "nothing is clipped"
    await s.enter("/who")
    await s.until_text("not here, heard")
    await s.press("escape")
    await s.pilot.resize_terminal(80, 24)
    await s.press("f4")
    await s.until_text("not here, heard")
    assert "left" not in s.text()


@staged(peers=("bob", "carol"), size=(100, 30))
async def test_the_head_says_who_went_away(s: Stage) -> None:
    await s.until_text("3 here")
    assert "not here" not in s.lines()[0]
    await s.peers["bob"].node.close(0.1)
    await s.until(lambda: "2 here, bob not here" in s.lines()[0], "who is fewer")


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_a_click_on_a_member_shows_the_members_with_that_one_chosen(s: Stage) -> None:
    await s.until(lambda: len(s.app.node.sessions["lobby"].presence.keys) > 1)
    at = next(at for at, line in enumerate(s.lines()) if "▪ carol " in line)
    await s.pilot.click(offset=(s.lines()[at].index("▪ carol ") + 3, at))
    await s.until_text("Enter writes to them alone")
    assert s.app.shown == "lobby", "a click alone goes nowhere"
    await s.press("enter")
    await s.until(lambda: s.app.label(s.app.shown) == "@carol")


@staged(peers=("bob", "carol"), syncs=True, size=(80, 24))
async def test_an_open_list_of_members_follows_who_goes_and_keeps_the_chosen_one(s: Stage) -> None:
    await s.until(lambda: len(s.app.node.sessions["lobby"].presence.keys) > 1)
    await s.until_text("3 here")
    await s.press("f4", "down", "down")
    chosen = [person.sender_id for person in s.app.model.conversation.people()][2]
    name = next(name for name, peer in s.peers.items() if peer.node.sender_id == chosen)
    other = "bob" if name == "carol" else "carol"
    await s.peers[other].node.close(0.1)
    await s.until_text(f"▫ {other}")
    await s.until_text("─ 2 here ─")
    await s.press("enter")
    await s.until(lambda: s.app.label(s.app.shown) == f"@{name}")


@staged("lobby", "dev", peers=("bob",), size=(60, 20))
async def test_an_open_list_of_channels_tells_of_what_comes_in(s: Stage) -> None:
    await s.press("f3")
    assert "unread" not in s.text()
    s.say("are you there?", channel="dev")
    await s.until_text("1 unread")
