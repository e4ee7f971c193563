"""The head, the first words of a channel, and small screens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sdschat.node.events import HandedOver, HostingChanged, NodeEvent, NotPublished, SendingResumed
from sdschat.node.node import Node
from sdschat.node.recording.recorder import Recorder
from sdschat.node.settings import make_settings
from sdschat.node.store_client.events import StoreLeft
from sdschat.node.tools.fault_injection import Injection
from sdschat.node.view.private import join_command
from sdschat.tui.model.history import as_started
from sdschat.tui.widgets.sheet import Sheet
from tests.tui.stage import Stage, stage, staged


@staged(size=(80, 24))
async def test_the_host_of_the_broker_reads_it_in_80_columns_beside_the_keys(s: Stage) -> None:
    await s.until_text("alone here")
    s.app._hear(NodeEvent("", s.app.view.now().wall, HostingChanged(True)))
    await s.until_text("alone here ⋅ hosting the broker")
    assert "F1 help  F2 lens" in s.text()


@staged(size=(60, 15))
async def test_a_narrow_head_keeps_the_key_of_help_before_all_but_the_pill(s: Stage) -> None:
    await s.until_text("alone here")
    assert "F1 help" in s.lines()[0]
    s.app._hear(NodeEvent("", s.app.view.now().wall, HostingChanged(True)))
    await s.settle()
    assert "nothing missing ⋅ alone here" in s.lines()[0]
    assert "F1 help" in s.lines()[0]


@staged(peers=("guest-12345678", "bartholomew"), size=(80, 24))
async def test_where_the_names_of_who_went_away_have_no_room_the_number_of_those_here_is_left(s: Stage) -> None:
    """The head dropped *alone here* with the names, just when everybody had left."""
    await s.until_text("3 here")
    for member in s.peers.values():
        await member.node.close(0.1)
    await s.until(lambda: not s.app.model.present, "both are away")
    await s.until(lambda: "nothing missing ⋅ alone here" in s.lines()[0], "alone here")
    assert "F1 help" in s.lines()[0]


@staged(size=(100, 24))
async def test_the_keys_of_the_head_are_those_of_now(s: Stage) -> None:
    assert "F1 help  F2 lens" in s.lines()[0]
    await s.enter("/keys help f9")
    await s.enter("/keys lens alt+g")
    assert "F9 help  Alt+G lens" in s.lines()[0]
    await s.press("f9")
    assert s.app.sheet.page is not None


def test_a_channel_that_is_recorded_says_so_until_the_recording_ends(tmp_path: Path) -> None:
    """The first lines alone told of it: a day later nothing said that all is kept in a file."""

    async def story() -> None:
        recorders: list[Recorder] = []

        def record(node: Node) -> None:
            recorders.append(Recorder(node, tmp_path / "run.jsonl"))

        async with stage(tmp_path, extends=record) as s:
            await s.until(lambda: "recording" in s.lines()[0], "the sign")
            recorders[0].close()
            await s.enter("/clear")
            await s.until(lambda: "recording" not in s.lines()[0], "no sign")

    asyncio.run(story())


@staged()
async def test_an_empty_channel_names_the_key_of_help_once(s: Stage) -> None:
    assert "\n".join(s.log()).count("F1") == 1


@staged()
async def test_the_head_says_at_once_what_is_known_after_connecting(s: Stage) -> None:
    Injection(s.app.node, "lobby").offline(True)
    await s.until_text("lobby  ‼ offline")
    Injection(s.app.node, "lobby").offline(False)
    await s.until_text("lobby  ▪ nothing missing ⋅ alone here")
    s.world.start("bob").node.send("lobby", "hello")
    await s.until_text("lobby  ▪ nothing missing ⋅ 2 here ⋅ heard bob just now")


@staged()
async def test_a_refusal_of_the_broker_is_in_the_head_with_its_reason(s: Stage) -> None:
    at = s.app.view.now().wall
    s.app._hear(NodeEvent("lobby", at, NotPublished("", "refused", "The broker forbids to write here.")))
    await s.until_text("‼ not allowed to write")
    assert "The broker forbids to write here." in s.text()
    s.app._hear(NodeEvent("lobby", at, HandedOver("m" * 64)))
    await s.until(lambda: "not allowed" not in s.text())


@staged()
async def test_a_refusal_is_no_longer_in_the_head_once_the_broker_takes_anything(s: Stage) -> None:
    at = s.app.view.now().wall
    s.app._hear(NodeEvent("lobby", at, NotPublished("", "refused", "The broker forbids to write here.")))
    await s.until_text("‼ not allowed to write")
    s.app._hear(NodeEvent("lobby", at, SendingResumed()))
    await s.until(lambda: "not allowed" not in s.text() and "NOT TAKEN" not in s.text())


def test_where_the_name_of_the_program_finds_nothing_its_path_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [".venv/bin/sdschat", "join", "lobby"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert as_started("sdschat join lobby") == ".venv/bin/sdschat join lobby"
    monkeypatch.setattr("sys.argv", ["/usr/lib/python3/pytest"])
    assert as_started("sdschat join lobby") == "sdschat join lobby"


@staged()
async def test_a_channel_without_messages_says_what_can_be_done(s: Stage) -> None:
    assert "no message is here yet" in s.text()
    assert f"you          ann, with the key {s.app.node.sender_id[:8]}" in s.text()
    assert "others join  sdschat join lobby" in s.text()
    assert "Ctrl+C twice leaves" in s.text()
    await s.enter("is anybody there?")
    assert "no message is here" not in s.text()


@staged()
async def test_others_join_with_the_timing_of_this_node(s: Stage) -> None:
    """With another one they asked for what is missing a minute later than the others."""
    assert "--timing" not in join_command(s.app.node, "lobby")
    s.app.node.settings = make_settings({}, "demo")
    assert join_command(s.app.node, "lobby") == "sdschat join lobby --timing demo"


@staged()
async def test_others_join_with_the_options_that_this_broker_needs(s: Stage) -> None:
    s.app.node.broker, s.app.node.broker_options = "mqtts://b.example:8883", " --ca-file ours.pem"
    await s.enter("/join dev")
    wanted = "sdschat join dev --broker mqtts://b.example:8883 --ca-file ours.pem"
    await s.until(lambda: wanted in " ".join("\n".join(s.log()).replace("»", "").split()), wanted)
    await s.enter("/invite")
    await s.until(lambda: f"with {wanted}." in " ".join(s.text().split()), "the refusal of /invite")


@staged()
async def test_others_are_told_that_the_broker_wants_a_user(s: Stage) -> None:
    s.app.node.broker, s.app.node.broker_wants_user = "mqtts://b.example:8883", True
    assert join_command(s.app.node, "lobby") == "sdschat join lobby --broker mqtts://USER@b.example:8883"


@staged(guest=True)
async def test_a_guest_is_told_the_address_and_no_command_of_the_machine(s: Stage) -> None:
    said = " ".join("\n".join(s.log()).replace("»", "").split())
    assert "others join by opening the address of this page, and /join lobby there where it is not open" in said
    assert "sdschat join" not in s.text()


@staged(peers=("bob",))
async def test_whoever_loses_the_connection_is_shown_as_not_connected_at_once(s: Stage) -> None:
    await s.until_text("2 here")
    Injection(s.app.node, "lobby").offline(True)
    await s.until_text("OFFLINE")
    assert "not connected" in s.text()


@staged()
async def test_a_store_that_is_left_is_named(s: Stage) -> None:
    told = StoreLeft("ab" * 16, "attic", "its pages lack 30 of 312 messages that it said to have")
    s.app._hear(NodeEvent("lobby", s.app.view.now().wall, told))
    await s.settle()
    assert any("the Store attic (abababab) is not asked any more" in line for line in s.lines())


@staged(peers=("bob",), size=(20, 4))
async def test_on_the_smallest_screen_the_newest_message_and_the_input_remain(s: Stage) -> None:
    s.say("good morning everybody, the ferry is late")
    await s.until_text("ferry")
    await s.enter("will do")
    await s.press(*"half")
    assert any("ann" in line and "will do" in line for line in s.lines())
    assert s.lines()[3].startswith("> half")


@staged(size=(80, 24))
async def test_a_message_of_a_thousand_lines_is_folded_in_the_log_and_whole_in_its_details(s: Stage) -> None:
    s.app.composer.insert("\n".join(f"line {number}" for number in range(1000)))
    await s.press("enter")
    await s.until_text("976 more lines: Alt+Up selects it, F5 shows all")
    assert not any("line 24" in row for row in s.log())
    await s.press("f5")
    page = s.app.query_one(Sheet).page
    assert page is not None
    assert page.lines[-1] == "line 999"


@staged(size=(80, 24))
async def test_a_message_that_is_too_long_for_the_log_is_whole_in_its_details(s: Stage) -> None:
    """They ended in its middle, below *the whole text*, and the log counted the lines that it had."""
    s.app.composer.insert("\n".join(f"line {number:04} {'x' * 20}" for number in range(1000)))
    await s.press("enter")
    await s.until_text("+ more lines: Alt+Up selects it, F5 shows all")
    await s.press("f5")
    page = s.app.query_one(Sheet).page
    assert page is not None
    assert page.lines[-1].startswith("line 0999")


@staged(peers=("bob",), size=(60, 15))
async def test_the_details_take_no_line_for_the_name_of_a_key_alone(s: Stage) -> None:
    s.say("the first")
    await s.until_text("the first")
    s.say("the second")
    await s.until_text("the second")
    await s.press("alt+up")
    await s.until(lambda: "by a key met before" in s.app.panes.said("details"), "the details")
    assert s.app.panes.details.size.height == 1


def test_who_comes_back_reads_in_the_head_how_much_is_new_and_which_key_leads_there(tmp_path: Path) -> None:
    """Only the line above the new messages told of them, out of sight, by a key that nothing on the screen named."""

    async def story() -> None:
        async with stage(tmp_path, peers=("bob",)) as s:
            s.say("read")
            await s.until_text("read")
            s.app._keep()
        async with stage(tmp_path, peers=("carol",), size=(80, 24)) as s:
            await s.until_text("2 here")
            assert " new: " not in s.lines()[0], "all was read"
            s.app.app_focus = False
            for number in range(30):
                s.say(f"number {number}, ann" if number == 3 else f"number {number}", "carol")
            await s.until_text("number 29")
            s.app.app_focus = True
            await s.until_text("nothing missing ⋅ 9 new, 1 to you: Alt+U ⋅ 2 here")
            await s.enter("/keys unread f9")
            assert "9 new, 1 to you: F9" in s.lines()[0]
            await s.press("f9")
            assert "─ new ─" in s.text()
            assert "number 0" in s.text()
            assert " new" not in s.lines()[0]
            await s.press("alt+end")
            assert " new" not in s.lines()[0], "it was seen"

    asyncio.run(story())


@staged(peers=("bob",), size=(80, 24))
async def test_new_messages_are_not_counted_once_one_has_scrolled_up_to_the_first_or_written(s: Stage) -> None:
    await s.until_text("2 here")
    for ends in ("pageup", "write"):
        s.app.app_focus = False
        for number in range(25):
            s.say(f"{ends} {number}")
        await s.until_text(f"{ends} 24")
        s.app.app_focus = True
        await s.until_text("25 new: Alt+U")
        await (s.press("pageup", "pageup") if ends == "pageup" else s.enter("so it is"))
        await s.until(lambda: " new" not in s.lines()[0], "they are counted still")
        await s.press("alt+end")


@staged(size=(80, 24))
async def test_the_keys_in_the_head_can_be_clicked(s: Stage) -> None:
    """They look like buttons, and nothing came of a click."""
    await s.pilot.click("#head", offset=(s.lines()[0].index("F1 help") + 3, 0))
    await s.until_text("Esc closes")
    await s.press("escape")
    await s.pilot.click("#head", offset=(s.lines()[0].index("F2 lens"), 0))
    await s.settle()
    assert s.app.lens.is_open
