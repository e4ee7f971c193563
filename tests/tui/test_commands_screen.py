"""Commands about the program itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sdschat.tui import preferences
from sdschat.tui.commands.loader import load
from sdschat.tui.host import Command, CommandRegistry
from sdschat.tui.input_handler import expanded
from sdschat.tui.manual import TOPICS, lines_of
from sdschat.tui.model.results import CommandError
from sdschat.tui.model.words import ASCII, UNICODE
from tests.tui.stage import Stage, stage, staged

HERE = Path(__file__).parent


def test_every_command_is_tested_by_name() -> None:
    written = "".join(path.read_text() for path in HERE.rglob("test_*.py"))
    typed = set(re.findall(r"\"/([a-z]+)", written))
    own = {command.name for command in load().commands if command.group != "lens"}
    assert own <= typed


def test_every_command_explains_itself() -> None:
    for command in load().commands:
        assert command.usage.startswith(f"/{command.name}"), command
        assert command.summary, command
        assert not command.summary.endswith("."), command


def test_two_commands_of_one_name_are_noticed() -> None:
    command = Command("x", "/x", "X", lambda host, argument: None)
    with pytest.raises(ValueError, match="/x"):
        CommandRegistry([command, command._replace(name="y", aliases=("x",))]).get("x")


def test_aliases_take_their_argument_where_it_belongs() -> None:
    aliases = {"hi": "say hello $* !", "b": "go bob"}
    assert expanded("hi ann", aliases) == "say hello ann !"
    assert expanded("b now", aliases) == "go bob now"
    assert expanded("help", aliases) == "help"


@staged(size=(99, 100))
async def test_help_lists_every_command(s: Stage) -> None:
    await s.press("f1", "tab", "tab")
    for name in s.app.registry.names():
        assert f"/{name}" in s.text(), name


@staged(size=(99, 72))
async def test_help_and_legend_show_pages_of_the_manual(s: Stage) -> None:
    page = lines_of(TOPICS["signs"])
    assert page[2].split()[:5] == ["●", "known", "known", "to", "have"]
    for line in ("/help signs", "/legend"):
        await s.enter(line)
        assert all(each.split()[-1] in s.text() for each in page)
        await s.press("escape")
    await s.enter("/help nonsense")
    assert s.hint().startswith("No command, topic or line of help has nonsense.")


def test_a_page_can_be_written_in_ascii_signs() -> None:
    page = lines_of(TOPICS["signs"], ASCII)
    assert not any("with --ascii =" in line for line in page)
    assert any("= stands behind the nick" in line for line in page)
    assert page[2].split()[:2] == ["+", "known"]
    assert not any(sign in line for line in page for sign in UNICODE if not sign.isascii())


@staged(size=(120, 40))
async def test_help_tells_of_the_file_of_preferences(s: Stage) -> None:
    """The page on the chat was named for it, which has nothing on it; only the page of the repository told of it."""
    s.app.preferences.file = s.world.folder / "tui.toml"
    await s.enter("/help preferences")
    text = "\n".join(s.app.sheet.page.lines if s.app.sheet.page is not None else ())
    for told in (str(s.world.folder / "tui.toml"), "notify_command", "themes/NAME.toml", "[aliases]", "mention"):
        assert told in text
    for command in ("theme", "notify", "bell"):
        await s.enter_instead(f"/help {command}")
        assert "/help preferences" in s.hint() + s.text()
    await s.press("escape", "f1", *"tui.toml")
    assert "On another page (Tab): commands" in s.text()
    await s.press("tab", "tab", *"tui.toml")
    assert "notify_command" in s.text()


@staged()
async def test_help_explains_one_command(s: Stage) -> None:
    await s.enter("/help goto")
    assert "first" in s.text()
    assert "also: /g" in s.text()
    await s.enter_instead("/help lense")
    assert s.hint() == "No command, topic or line of help has lense. Did you mean /help lens?"


@staged(size=(100, 40))
async def test_help_keeps_the_rows_of_a_table(s: Stage) -> None:
    """They ran into one paragraph, in which no command was to be found."""
    await s.enter("/help fault")
    lines = s.text().splitlines()
    assert any(re.search(r"  /fault duplicate 10% +let some through twice\W*$", line) for line in lines)
    assert any(re.match(r"\W*Faults are of this channel", line) for line in lines)
    await s.enter_instead("/help lose packets in or both")
    assert "/fault loss 30% in" in s.hint() + s.text()
    assert "duplicate" not in s.hint() + s.text()


@staged(guest=True)
async def test_help_tells_a_guest_that_a_command_is_not_for_guests(s: Stage) -> None:
    await s.enter("/help editor")
    assert "not for guests" in s.hint()


@staged(size=(120, 40))
async def test_help_finds_words_that_are_no_command_and_no_topic(s: Stage) -> None:
    """It knew names alone, and the words that one tries stand on some page."""
    for words, place, line in (
        ("notifications", "in /help preferences:", "notify_terminal"),
        ("themes", "in /help:", "/theme"),
        ("browser link", "in /help:", "/open"),
    ):
        await s.enter_instead(f"/help {words}")
        found = s.hint() if s.app.sheet.page is None else "\n".join(s.app.sheet.page.lines)
        assert line in found.partition(place)[2], words
        await s.press("escape")
    for name, instead in (("hook", "notify_command runs one"), ("typing", "Nobody tells that somebody types")):
        await s.enter_instead(f"/help {name}")
        assert instead in s.hint() + s.text()


@staged(size=(100, 50))
async def test_keys_are_listed_and_can_be_changed(s: Stage) -> None:
    await s.enter("/keys")
    assert "the next channel with news (next-activity)" in s.text()
    await s.press("escape")
    await s.enter("/keys members f9")
    assert s.app.query_one("#members").display
    await s.press("f9")
    assert not s.app.query_one("#members").display
    await s.press("f4")
    assert not s.app.query_one("#members").display
    await s.enter("/keys members default")
    await s.press("f4")
    assert s.app.query_one("#members").display
    await s.enter("/keys search Ctrl+G")
    assert s.app.preferences.keys == {"search": "ctrl+g"}
    assert s.hint() == "search: Ctrl+G"
    await s.enter("/keys choose-up Alt+PgUp, Shift+F9")
    assert s.app.preferences.keys["choose-up"] == "alt+pageup,shift+f9"
    await s.enter("/keys nonsense f9")
    assert "There is no action nonsense" in s.hint()


@staged()
async def test_a_key_that_one_writes_with_or_that_another_action_has_is_not_given_away(s: Stage) -> None:
    for key, why in (
        ("enter", "lens keeps its key: Enter stays what it is"),
        ("a", "A stays what it is"),
        ("shift+tab", "Shift+Tab stays what it is"),
        ("ctrl+m", "Ctrl+M stays what it is"),
        ("alt+1", "Alt+1 stays what it is"),
        ("nonsense", "'nonsense' is no key"),
        ("hop+a", "'hop+a' is no key"),
        ("f9,enter", "Enter stays what it is"),
        ("f4", "F4 is the key of members. Give that another one first: /keys members KEY"),
    ):
        await s.enter_instead(f"/keys lens {key}")
        assert why in s.hint()
    assert not s.app.preferences.keys
    await s.enter_instead("/keys lens f9,alt+g")
    await s.press("alt+g")
    assert s.app.lens.is_open


@staged()
async def test_the_head_names_the_keys_of_now(s: Stage) -> None:
    assert "F1 help  F2 lens" in s.text()
    await s.enter("/keys lens f9")
    await s.enter("/keys help ctrl+g")
    assert "Ctrl+G help  F9 lens" in s.text()


def test_keys_of_the_file_and_of_the_profile_that_cannot_be_one_are_named(tmp_path: Path) -> None:
    """A profile in which Enter opened the Lens could not be used any more: no command could be entered."""
    file = tmp_path / "tui.toml"
    file.write_text('[keys]\nlens = "a"\nhelp = "f9"\n')
    found, problems = preferences.load(file, '{"keys": {"members": "enter", "log": "f8"}}')
    assert found.keys == {"help": "f9", "log": "f8"}
    assert [problem.partition(": ")[2] for problem in problems] == [
        "lens keeps its key: A stays what it is; there are such as f9, ctrl+g and alt+g.",
        "members keeps its key: Enter stays what it is; there are such as f9, ctrl+g and alt+g.",
    ]


def test_the_file_of_preferences_stays_in_force_for_what_no_command_changed(tmp_path: Path) -> None:
    file = tmp_path / "tui.toml"
    file.write_text('theme = "contrast"\nhighlight = ["rope"]\n[aliases]\nhi = "say hi"\n')
    found, _ = preferences.load(file, "")
    found.bell = False
    found.highlight.append("ferry")
    found.aliases["bye"] = "say bye"
    file.write_text('theme = "light"\nhighlight = ["oar"]\n[aliases]\nhi = "say hello"\n')
    again, problems = preferences.load(file, found.dumped())
    assert (again.theme, again.bell, problems) == ("light", False, [])
    assert again.highlight == ["oar", "ferry"]
    assert again.aliases == {"hi": "say hello", "bye": "say bye"}


@staged(size=(100, 60))
async def test_legend_shows_every_sign_with_its_word(s: Stage) -> None:
    await s.enter("/legend")
    for shown in ("⋯ queued", "⇡ unacked", "◐ perhaps", "✓ acked", "✗ refused"):
        assert shown in s.text()


@staged()
async def test_theme_changes_the_colours_and_is_kept(s: Stage) -> None:
    await s.enter("/theme light")
    assert s.app.theme == "chat-light"
    await s.enter("/theme")
    assert s.hint().startswith("theme: light\n/theme NAME takes another one of auto, dark, light, contrast, plain")
    assert s.app.theme == "chat-light"
    await s.enter("/theme contrast")
    assert '"theme": "contrast"' in s.app.view.value("preferences")
    await s.enter("/theme pink")
    assert "There is no theme pink" in s.hint()


@staged()
async def test_an_alias_runs_what_it_stands_for(s: Stage) -> None:
    await s.enter("/alias hi say hello $* there")
    await s.enter("/hi you")
    assert any("hello you there" in line for line in s.log())
    await s.enter("/alias")
    assert "/hi is /say hello" in s.text()
    await s.enter("/alias hi")
    await s.enter("/hi you")
    assert "There is no command /hi" in s.hint()


def test_an_alias_of_the_file_stands_with_or_without_its_slash(tmp_path: Path) -> None:
    file = tmp_path / "tui.toml"
    file.write_text('[aliases]\nhi = "/me waves"\n"/Bye" = "me goes"\n[keys]\nsearch = "Ctrl+G"\n')
    found, problems = preferences.load(file, "")
    assert (found.aliases, found.keys, problems) == ({"hi": "me waves", "bye": "me goes"}, {"search": "ctrl+g"}, [])


@staged()
async def test_an_alias_of_no_command_is_refused_with_what_to_type(s: Stage) -> None:
    await s.enter("/alias hi hello everybody")
    assert "/hello is none" in s.hint()
    assert "/alias hi say hello everybody" in " ".join(s.hint().split())
    await s.enter_instead("/alias yo say yo")
    await s.enter("/alias yy yo")
    assert "/yy is now /yo" in s.hint()


@staged()
async def test_an_alias_cannot_hide_a_command(s: Stage) -> None:
    await s.enter("/alias quit say no")
    assert "/quit is a command" in s.hint()


@staged()
async def test_ids_are_shown_of_what_is_selected_and_of_all_where_asked_for(s: Stage) -> None:
    await s.enter("look")
    (entry,) = s.app.model.timeline.messages()
    assert entry.message_id[:4] not in s.text()
    await s.press("alt+up")
    assert entry.message_id[:4] in s.text()
    await s.press("escape")
    await s.enter("/ids")
    assert entry.message_id[:4] in s.text()


@staged(peers=("bob",))
async def test_the_bell_rings_on_a_mention_unless_it_is_off(s: Stage) -> None:
    rung: list[bool] = []
    s.app.bell = lambda: rung.append(True)  # type: ignore[method-assign]
    s.app.app_focus = False
    s.say("ann: look")
    await s.until(lambda: bool(rung))
    await s.enter("/bell")
    s.say("ann: again")
    await s.until_text("again")
    assert len(rung) == 1


@staged()
async def test_clear_takes_out_the_lines_of_the_program_alone(s: Stage) -> None:
    await s.enter("a message")
    s.app.show_notice("a line of the program")
    await s.enter("/clear")
    assert "a line of the program" not in s.text()
    assert "a message" in s.text()


@staged()
async def test_a_switch_takes_on_and_off_and_nothing_else(s: Stage) -> None:
    """Whatever stood behind it, it changed to the other one: `/bell on` switched the bell off."""
    for name in ("bell", "ids"):
        for argument, wanted in (("on", True), ("ON", True), ("off", False), ("off", False), ("", True)):
            await s.enter_instead(f"/{name} {argument}".strip())
            assert getattr(s.app.preferences, name) is wanted
        await s.enter_instead(f"/{name} loud")
        assert s.hint().startswith(f"/{name} takes on or off")
        assert getattr(s.app.preferences, name) is True
    await s.enter_instead("/bare off")
    assert not s.app.panes.bare
    await s.enter("/bare on")
    assert s.app.panes.bare


@staged()
async def test_a_letter_brings_the_input_back_from_the_bare_log(s: Stage) -> None:
    """Typed letters went nowhere, and the line that names the key went after some seconds."""
    await s.enter("/bare")
    s.app._forget("another line")
    assert s.hint().startswith("Esc brings everything back")
    assert s.app._reading is None or s.app._reading.cancelled()
    await s.press(*"good")
    assert s.app.composer.text == "good"
    assert "F1 help" in s.text()
    assert s.hint() == ""


@staged()
async def test_bare_shows_the_log_alone_until_escape(s: Stage) -> None:
    await s.enter("a message")
    await s.enter("/bare")
    assert "Esc brings everything back" in s.text()
    assert "F1 help" not in s.text()
    assert "alone here" not in s.text()
    await s.press("escape")
    assert "F1 help" in s.text()


@staged()
async def test_quit_leaves(s: Stage) -> None:
    await s.enter("/quit")
    assert s.app.return_code == 0
    assert not s.app.is_running or s.app._exit


def test_preferences_survive(tmp_path: Path) -> None:
    import asyncio

    async def story() -> None:
        async with stage(tmp_path) as s:
            await s.enter("/alias hi say hello")
            await s.enter("/theme light")
        async with stage(tmp_path) as s:
            assert s.app.theme == "chat-light"
            await s.enter("/hi")
            assert any("hello" in line for line in s.log())

    asyncio.run(story())


def test_a_guest_has_no_command_that_reaches_the_machine() -> None:
    guests = load(guest=True)
    assert {"export", "share", "log", "open", "editor"} == set(load().names()) - set(guests.names())
    with pytest.raises(CommandError, match="not for guests"):
        guests.find("export")


@staged()
async def test_what_was_not_done_is_told_in_another_colour_than_an_answer(s: Stage) -> None:
    await s.enter("/theme pink")
    assert s.app.panes.notice.has_class("-wrong")
    await s.enter_instead("/outbox")
    assert "nothing waits" in s.hint()
    assert not s.app.panes.notice.has_class("-wrong")


@staged(peers=("bob",), ascii_only=True)
async def test_one_sign_stands_for_what_is_cut_and_the_page_of_signs_names_it(s: Stage) -> None:
    assert "… (with --ascii ~) ends what had no room" in " ".join(lines_of(TOPICS["signs"]))
    assert "~ ends what had no room" in " ".join(lines_of(TOPICS["signs"], ASCII))
    assert any("new key: the first that was heard of this key" in line for line in lines_of(TOPICS["signs"]))
    s.say("word " * 40 + "\nand more")
    await s.until_text("and more")
    await s.enter("an answer")
    await s.enter("/info")
    (line,) = (line for line in s.app.sheet.page.lines if "follows" in line)  # type: ignore[union-attr]
    assert line.endswith("word~")


def test_the_tables_of_one_page_have_their_last_column_in_one_place() -> None:
    page = lines_of(TOPICS["signs"])
    means = ("known to have it; ", "saved here; nobody", "saved here; before")
    assert len({line.index(each) for each in means for line in page if each in line}) == 1
