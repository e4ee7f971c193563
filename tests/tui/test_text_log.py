"""The running text log: a line for each message, made safe, bounded, and for the owner alone."""

from __future__ import annotations

import stat
from pathlib import Path

from sdschat.node.members.opening import install
from sdschat.tui import text_log
from sdschat.tui.preferences import load
from tests.tui.plain_lines import Lines, plain
from tests.tui.stage import Stage, staged


def default_file(s: Stage) -> Path:
    return s.world.path("ann").parent / "logs" / "lobby.txt"


@staged(peers=("bob",))
async def test_each_message_is_appended_from_log_on_until_log_off(s: Stage) -> None:
    s.say("before")
    await s.until_text("before")
    await s.enter("/log on")
    assert str(default_file(s))[:20] in s.hint()
    s.say("one\ntwo \x1b[31m red")
    await s.until_text("two")
    await s.enter("own")
    first, second, third = default_file(s).read_text().splitlines()
    assert first.endswith(" bob: one")
    assert second == "    two \\u{1b}[31m red"
    assert third.endswith(" ann: own")
    assert stat.S_IMODE(default_file(s).stat().st_mode) == 0o600
    await s.enter("/log off")
    await s.enter("not there")
    assert "not there" not in default_file(s).read_text()


@staged()
async def test_a_text_log_that_cannot_be_written_is_told_once(s: Stage) -> None:
    await s.enter("/log on /nowhere/at/all.txt")
    assert "cannot be written" in s.hint()
    await s.enter_instead(f"/log on {s.world.folder / 'here' / 'lobby.txt'}")
    (s.world.folder / "here").mkdir()
    await s.press("enter")
    assert s.app.preferences.log
    (s.world.folder / "here" / "lobby.txt").unlink()
    (s.world.folder / "here").rmdir()
    await s.enter("lost")
    await s.until(lambda: "Nothing more goes there" in s.hint())


@staged()
async def test_a_large_file_is_put_aside_once(s: Stage) -> None:
    await s.enter("/log on")
    file = default_file(s)
    file.write_text("old\n" * (text_log.LARGEST // 4))
    await s.enter("new")
    assert file.read_text().count("\n") == 1
    assert file.with_name("lobby.txt.1").stat().st_size == text_log.LARGEST


@staged(extends=install)
async def test_a_members_channel_has_no_text_log(s: Stage) -> None:
    await s.enter("/create board members")
    await s.until(lambda: s.app.shown.startswith("board"))
    await s.enter("/log on")
    assert "deleted" in s.hint()
    assert not s.app.preferences.log


def test_the_file_of_preferences_switches_it_on_for_all_channels(tmp_path: Path) -> None:
    file = tmp_path / "tui.toml"
    file.write_text('[log]\n"*" = "on"\n')
    preferences, problems = load(file, "")
    assert (preferences.log, problems) == ({"*": "on"}, [])


def test_it_is_written_without_a_screen_too(tmp_path: Path) -> None:
    async def story(s: Lines) -> None:
        await s.enter("/log on")
        s.bob.node.send("lobby", "to the file")
        await s.until("to the file")
        (file,) = tmp_path.rglob("logs/lobby.txt")
        assert "bob: to the file" in file.read_text()

    plain(tmp_path, story)


@staged()
async def test_a_home_of_nobody_is_told_and_ends_nothing(s: Stage) -> None:
    for command in ("/log on ~nobody-here/x", "/export ~nobody-here/x.txt", "/share 5 ~nobody-here/x.html"):
        await s.enter(command)
        assert "begins with a user who is not known here" in s.hint()
