"""Writing to one participant alone: a conversation of its own, with the states of any message."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sdschat.node.events import DirectSaid
from sdschat.node.sync.extension import install, sync_extension
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.values import Shown, Verdict
from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.model.words import when
from tests.tui.hostile.judge import judge
from tests.tui.hostile.test_hostile import written
from tests.tui.stage import Stage, stage, staged


async def all_here(s: Stage) -> None:
    """Wait until all nodes have seen each other's presence, and so their keys."""
    nodes = [s.app.node, *(member.node for member in s.peers.values())]
    await s.until(lambda: all(len(node.sessions["lobby"].presence.keys) >= len(nodes) - 1 for node in nodes))


def whisper(s: Stage, text: str, who: str = "bob") -> str:
    """Send a direct message to ann. Return its id."""
    return sync_extension(s.peers[who].node, "lobby").direct.send(s.app.node.sender_id, text)


def heard(s: Stage, who: str) -> list[str]:
    return [said.opened.text or "" for said in s.peers[who].of(DirectSaid) if not said.own]


@staged(peers=("bob", "carol"), syncs=True, size=(120, 30))
async def test_msg_goes_to_one_alone_and_shows_when_they_have_it(s: Stage) -> None:
    await all_here(s)
    await s.enter("/msg bob only for you")
    assert s.app.label(s.app.shown) == "@bob"
    assert any("only for you" in line for line in s.log())
    await s.until(lambda: heard(s, "bob") == ["only for you"])
    await s.until(lambda: any("only for you" in line and "✓" in line for line in s.log()), "acked")
    assert heard(s, "carol") == []
    assert s.app.view.channel("lobby").count() == 0
    await s.press("alt+up", "f5")
    assert "known    bob (said so, signed)" in s.text()
    await s.press("escape", "escape")
    await s.enter("/why")
    assert "known    bob (said so, signed)" in s.text(), "it was empty"


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_what_is_written_in_a_conversation_goes_to_that_one(s: Stage) -> None:
    await all_here(s)
    await s.enter("/msg bob")
    await s.enter("first")
    await s.enter("/me waves")
    await s.until(lambda: heard(s, "bob") == ["first", "waves"])
    assert any("* ann" in line and "waves" in line for line in s.log())
    await s.press("alt+1")
    assert s.app.shown == "lobby"
    await s.enter("for everybody")
    assert heard(s, "bob") == ["first", "waves"]


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_a_message_to_us_alone_opens_its_conversation_in_the_list_with_a_badge_and_rings(s: Stage) -> None:
    await all_here(s)
    rung: list[bool] = []
    s.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
    whisper(s, "psst")
    await s.until_text("2 @bob")
    assert s.app.shown == "lobby"
    assert "psst" not in s.text()
    assert "1!" in s.text()
    assert "bob wrote to you alone: Alt+2" in s.text(), "the badge at the edge is easy to miss"
    assert rung
    await s.press("alt+a")
    assert s.app.label(s.app.shown) == "@bob"
    assert any("psst" in line for line in s.log())
    assert "1!" not in s.text()
    assert " new " in "".join(s.log())


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_who_begins_a_conversation_changes_no_number_of_another_channel(s: Stage) -> None:
    await all_here(s)
    whisper(s, "psst")
    await s.until_text("3 @bob")
    await s.press("alt+2")
    assert s.app.shown == "dev"
    await s.press("alt+3")
    assert s.app.label(s.app.shown) == "@bob"
    assert "here in lobby ⋅ only bob and you read this" in s.text()


@staged(peers=("bob",), syncs=True)
async def test_it_is_kept_while_the_other_is_away_and_goes_out_again_when_they_come_back(s: Stage) -> None:
    await all_here(s)
    bob = Injection(s.peers["bob"].node, "lobby")
    bob.offline(True)
    await s.enter("/msg bob when you are back")
    await s.until(lambda: any("○ 0/1" in line for line in s.log()), "sent")
    assert heard(s, "bob") == []
    bob.offline(False)
    await s.until(lambda: heard(s, "bob") == ["when you are back"])
    await s.until_text("✓")


@staged(peers=("bob",), syncs=True)
async def test_an_absence_is_said(s: Stage) -> None:
    s.say("I have to go")
    await s.until_text("I have to go")
    await s.peers["bob"].node.close(0.1)
    await s.until_text("alone here")
    await s.enter("/msg bob are you there?")
    await s.until_text("not here, 1 on its way")
    await s.until(lambda: s.app.model.timeline.messages().__next__().fate == Fate(Phase.UNACKED))
    await s.press("alt+up")
    assert "bob is not here: it is kept" in s.app.panes.said("details")


@staged(peers=("bob",))
async def test_the_mouse_over_an_own_message_says_who_has_it(s: Stage) -> None:
    await all_here(s)
    await s.enter("below the mouse")
    await s.until_text("✓")
    row = next(at for at, line in enumerate(s.log()) if "below the mouse" in line)
    await s.pilot.hover("#log", offset=(30, row))
    await s.until(lambda: "bob is known to have it." in str(s.app.log_view.tooltip), "the sentence")
    await s.pilot.hover("#log", offset=(30, row + 4))
    assert s.app.log_view.tooltip is None


def test_a_conversation_its_states_and_drafts_survive_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        async with stage(tmp_path, peers=("bob",), syncs=True) as s:
            await all_here(s)
            await s.enter("/msg bob acknowledged")
            await s.until_text("✓")
            await s.peers["bob"].node.close(0.1)
            await s.until_text("not here")
            await s.enter("waiting")
            await s.type("a draft")
        async with stage(tmp_path, syncs=True, size=(120, 30)) as s:
            assert [s.app.label(name) for name in s.app.order] == ["lobby", "@bob"]
            await s.press("alt+2")
            lines = s.log()
            assert any("acknowledged" in line and "✓" in line for line in lines)
            assert any("waiting" in line and ("queued" in line or "unacked" in line) for line in lines)
            assert s.app.composer.text == "a draft"

    asyncio.run(story())


@staged(peers=("bob", "bert"), syncs=True)
async def test_nicks_are_completed_and_unknown_ones_said_to_be(s: Stage) -> None:
    await all_here(s)
    await s.type("/msg be")
    await s.press("tab")
    assert s.app.composer.text == "/msg bert "
    await s.enter_instead("/msg nobody hello")
    assert "Nobody called nobody is known on this channel" in s.hint()
    assert s.app.composer.text == "/msg nobody hello"
    await s.enter_instead("/msg ann hello")
    assert "That is yourself" in s.hint()


@staged(peers=("bob",), syncs=True)
async def test_search_reply_and_part_work_in_a_conversation(s: Stage) -> None:
    await all_here(s)
    await s.enter("/msg")
    assert "/msg needs somebody" in s.hint()
    message_id = whisper(s, "where is the needle?")
    await s.until(lambda: len(s.app.order) == 2)
    await s.enter_instead("/go @bob")
    await s.enter("/search needle")
    assert "hit 1 of 1" in s.hint()
    await s.enter(f"/reply {message_id[:6]} in the hay")
    await s.until_text("\u21b3 bob: where is the needle?")
    said = await s.peers["bob"].until(DirectSaid, lambda said: said.opened.text == "in the hay")
    assert said.opened.reply_to == message_id
    await s.enter("/part")
    assert list(s.app.order) == ["lobby"]
    assert "lobby" in s.app.node.sessions
    await s.enter("/msg")
    assert "@bob" in s.text()
    assert "2 messages" in s.text()
    await s.enter("/query bob")
    assert any("in the hay" in line for line in s.log())


@staged()
async def test_without_direct_messages_the_command_says_so(s: Stage) -> None:
    await s.enter("/msg bob hello")
    assert "There are no direct messages here" in s.hint()


@staged(peers=("bob",), syncs=True)
async def test_names_and_texts_of_others_drive_no_terminal(s: Stage) -> None:
    await all_here(s)
    hostile = "ev\x1b[2Jil\u202e[/b]\x1b]52;c;eA==\x07"
    s.app.node.sessions["lobby"].presence.online["e" * 32] = hostile
    await s.enter("/msg nobody hello")
    assert "Here are: bob, ev" in s.hint()
    judge(written(s), "who is here")
    s.app.composer.put("")
    peer = s.peers["bob"].node.sender_id
    s.app.node.sessions["lobby"].presence.online[peer] = hostile
    await s.enter(f"/msg {peer}")
    model = s.app.model
    shown = Shown("1" * 64, 1, peer, hostile, f"text {hostile}", "known", False, 1)
    model.timeline.put(model.entry_for(shown))
    s.app.panes.draw_badges()
    s.app.log_view.refresh_rows()
    await s.settle()
    assert "text ev" in s.text()
    judge(written(s), "a conversation")


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_esc_goes_back_to_the_channel_before_and_keeps_what_one_writes(s: Stage) -> None:
    """Esc did nothing in a conversation of two, where the screen promises one step back."""
    await all_here(s)
    await s.enter("/msg bob")
    await s.press("alt+2", "alt+3")
    assert s.app.label(s.app.shown) == "@bob"
    await s.press("h", "i", "escape")
    assert s.app.label(s.app.shown) == "@bob", "what is meant for one alone is not written to all"
    assert s.app.composer.text == "hi"
    assert "Alt+2 goes back to dev" in s.text()
    await s.press("backspace", "backspace", "escape")
    assert s.app.shown == "dev"
    await s.press("escape")
    assert s.app.shown == "dev"


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_somebody_who_is_in_another_open_channel_is_found_and_reached(s: Stage) -> None:
    """A name was looked for in the channel that is shown alone, and a message to somebody of another one never went."""
    cid = s.world.start("cid", "dev", before=install)
    s.peers = {**s.peers, "cid": cid}
    await s.until(lambda: cid.node.sender_id in s.app.node.sessions["dev"].presence.keys)
    assert s.app.shown == "lobby"
    await s.type("/msg ci")
    await s.press("tab")
    assert s.app.composer.text == "/msg cid "
    await s.enter_instead("/msg cid are you there?")
    await s.until(lambda: heard(s, "cid") == ["are you there?"])
    assert "here in dev ⋅ only cid and you read this" in s.text()


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_one_key_is_one_conversation_through_all_channels_and_nicks(s: Stage) -> None:
    await all_here(s)
    bob = s.peers["bob"].node
    for number, channel in enumerate(("lobby", "dev")):
        sync_extension(bob, channel).direct.send(s.app.node.sender_id, f"by {channel}")
        await s.until_text(f"{number + 1}!")
    bob.rename("rob")
    await s.until(lambda: s.app.label(s.app.order[-1]) == "@rob")
    sync_extension(bob, "lobby").direct.send(s.app.node.sender_id, "as rob")
    await s.until_text("3!")
    assert [s.app.label(name) for name in s.app.order] == ["lobby", "dev", "@rob"]
    await s.press("alt+3")
    places = ["\n".join(s.log()).index(text) for text in ("by lobby", "by dev", "as rob")]
    assert places == sorted(places)
    await s.enter("an answer")
    await s.until(lambda: heard(s, "bob") == ["an answer"])


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_a_conversation_stays_when_one_of_its_channels_is_closed(s: Stage) -> None:
    await all_here(s)
    await s.enter("/msg bob first")
    await s.press("alt+1")
    await s.enter("/part")
    assert [s.app.label(name) for name in s.app.order] == ["dev", "@bob"]
    await s.enter("/msg bob second")
    await s.until(lambda: heard(s, "bob") == ["first", "second"])
    await s.press("alt+1")
    await s.enter("/part")
    assert "the only channel that is open" in s.hint()


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_it_goes_by_the_channel_that_one_looks_at_if_the_other_is_here_there(s: Stage) -> None:
    """It went by another one in which they had been heard already, though an open one tells more than a private one."""
    await all_here(s)
    s.say("heard in the lobby alone")
    await s.until_text("heard in the lobby alone")
    dev = s.app.node.sessions["dev"]
    await s.until(lambda: s.peers["bob"].node.sender_id in dev.presence.online)
    await s.press("alt+2")
    await s.enter("/msg bob")
    dev.channel.state.peers.known.clear()  # as before their first packet there
    assert s.app.conversation.channel == "dev"


@staged("lobby", "dev", peers=("bob",), syncs=True, size=(120, 30))
async def test_what_went_by_a_channel_that_is_closed_is_not_called_on_its_way(s: Stage) -> None:
    await all_here(s)
    await s.press("alt+2")
    Injection(s.peers["bob"].node, "dev").offline(True)
    await s.enter("/msg bob by dev")
    assert s.app.conversation.channel == "dev"
    await s.until_text("1 on its way")
    await s.enter("/part dev")
    assert s.app.conversation.channel == "lobby"
    assert s.app.conversation.sync().unacked == 0
    assert s.app.view.partners("lobby") == []
    assert "1 message to one participant alone goes on then" in s.hint()
    await s.press("escape", "alt+2", "f5")
    assert "It waits in dev, which is not open here: /join dev sends it again" in s.text()


@staged(peers=("bob",), syncs=True)
async def test_a_conversation_that_is_begun_without_a_connection_is_offline_too(s: Stage) -> None:
    await all_here(s)
    Injection(s.app.node, "lobby").offline(True)
    await s.until_text("OFFLINE")
    await s.enter("/msg bob are you there?")
    assert s.app.badge(s.app.shown) == "offline"
    Injection(s.app.node, "lobby").offline(False)
    await s.until(lambda: heard(s, "bob") == ["are you there?"])
    await s.until(lambda: s.app.badge(s.app.shown).startswith("here"))


@staged(peers=("bob", "@x"), syncs=True)
async def test_a_nick_that_begins_with_an_at_sign_is_found(s: Stage) -> None:
    """It was looked for without the sign, also where Tab had put it there."""
    await all_here(s)
    await s.enter("/msg @x hello")
    assert s.app.label(s.app.shown) == "@@x"
    await s.enter("/msg @bob: hello")
    assert s.app.label(s.app.shown) == "@bob"


@staged(peers=("bob",), syncs=True)
async def test_a_search_of_a_conversation_goes_on_before_or_after_what_it_found(s: Stage) -> None:
    """It gave the newest ones again: /mentions with a word that very many messages have did not end."""
    await all_here(s)
    for number in range(4):
        await s.enter(f"/msg bob line {number}")
    newest = s.app.conversation.search("line", limit=2)
    older = s.app.conversation.search("line", limit=2, before=newest[0].key)
    later = s.app.conversation.search("line", limit=2, after=older[0].key)
    assert [[shown.text for shown in page] for page in (newest, older, later)] == [
        ["line 2", "line 3"],
        ["line 0", "line 1"],
        ["line 1", "line 2"],
    ]


@staged(peers=("bob",), syncs=True, size=(120, 30))
async def test_what_was_written_long_before_it_came_says_when(s: Stage) -> None:
    """It stands where it came, by that time: "are you still there?" of last night looked like one of now."""
    await all_here(s)
    whisper(s, "are you still there?")
    await s.until_text("2 @bob")
    model = s.app.workspace.models[s.app.order[1]]
    (shown,) = model.conversation.messages()
    assert "written" not in model.entry_for(shown).remark
    day_before = shown._replace(message_id="f" * 64, sent_at=shown.received_at - 86_400_000)
    assert model.entry_for(day_before).remark == f"new key, written {when(day_before.sent_at, shown.received_at)}"
    known = day_before._replace(message_id="e" * 64, verdict=Verdict.KNOWN)
    await s.press("alt+2")
    model.replace_row(model.entry_for(known))
    s.app.log_view.refresh_rows()
    await s.until(lambda: f"written {when(known.sent_at, known.received_at)}" in "\n".join(s.log()), "the mark")


def test_the_line_above_what_is_new_stands_below_what_was_read_before_a_restart(tmp_path: Path) -> None:
    """An unsent message opened the conversation, and nothing of it was in memory: the line stood above all of it."""

    async def story() -> None:
        async with stage(tmp_path, peers=("bob",), syncs=True) as s:
            await all_here(s)
            await s.peers["bob"].node.close(0.1)
            await s.until_text("alone here")
            await s.enter("/msg bob first")
        async with stage(tmp_path, syncs=True) as s:
            assert [s.app.label(name) for name in s.app.order] == ["lobby", "@bob"]
            bob = s.world.start("bob", "lobby", before=install).node
            await s.until(lambda: bool(bob.sessions["lobby"].presence.keys), "ann's key")
            sync_extension(bob, "lobby").direct.send(s.app.node.sender_id, "second")
            await s.until(lambda: s.app.workspace.models[s.app.order[1]].unread == 1, "it came")
            await s.press("alt+2")
            places = [
                next(at for at, line in enumerate(s.log()) if each in line) for each in ("first", " new ", "second")
            ]
            assert places == sorted(places)

    asyncio.run(story())
