"""Themes of the user's own, and the background that the terminal names."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from textual import events
from textual.color import Color as Colour

from sdschat.tui.manual import PREFERENCES, lines_of
from sdschat.tui.preferences import load
from sdschat.tui.terminal import BackgroundNamed, KeyParser
from sdschat.tui.themes import PALETTES, PLAIN, contrast
from tests.cli.processes import command
from tests.transport.worlds import free_port
from tests.tui.stage import Stage, staged
from tests.tui.terminal import Terminal

SEA = """
base = "dark"
nicks = ["#7aa2f7", "#9ece6a"]
[screen]
background = "#001018"
[log]
text = "#e0f0ff"
mention = "bold #ffd479"
"""
ANSWER = "\x1b]11;rgb:fbfb/fbfb/fafa\x1b\\"


def themes(folder: Path, **files: str) -> Path:
    (folder / "themes").mkdir()
    for name, text in files.items():
        (folder / "themes" / f"{name}.toml").write_text(text)
    return folder / "tui.toml"


def test_a_file_is_a_theme_and_has_the_rest_from_its_base(tmp_path: Path) -> None:
    file = themes(tmp_path, sea=SEA)
    file.write_text('theme = "sea"\n')
    preferences, problems = load(file, "")
    palette = preferences.palettes["sea"]
    assert (preferences.theme, problems) == ("sea", [])
    assert palette.theme.background == "#001018"
    assert palette.theme.primary == preferences.palettes["dark"].theme.primary
    assert (str(palette.styles["text"].color.name), len(palette.nicks)) == ("#e0f0ff", 2)  # type: ignore[union-attr]


def test_what_help_shows_of_a_theme_can_be_copied_into_a_file(tmp_path: Path) -> None:
    """Explanations stood behind its lines as if they were part of the file."""
    shown = [line for line in lines_of(PREFERENCES) if line.startswith("    ")]
    assert all(len(line) <= 70 for line in shown), "it is not broken beside both lists"
    file = themes(tmp_path, sea="\n".join(shown))
    file.write_text('theme = "sea"')
    preferences, problems = load(file, "")
    assert problems == []
    assert preferences.palettes["sea"].theme.background == "#101418"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("base = 'night'", "base is 'night', and must be one of dark"),
        ("[screen]\nbackground = 'blue'", "background is 'blue', and must be a colour such as"),
        ("[log]\ntext = 'very #ff'", "text is 'very #ff', and must be a style such as"),
        ("[log]\nwords = '#ffffff'", "[log] has 'words'; there are text, time"),
        ("nicks = []", "nicks has to be a list"),
        ("colour = 1", "it has 'colour'; there are base"),
        ("[screen", "not used as a theme"),
        (f"base = {'[' * 30_000}", "not used as a theme"),
    ],
)
def test_a_bad_file_is_named_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    file = themes(tmp_path, bad=text)
    assert load(file, "")[1] == [], "it stood in the log of every profile"
    file.write_text('theme = "bad"')
    preferences, (problem,) = load(file, "")
    assert "bad.toml" in problem
    assert why in problem
    assert "bad" not in preferences.palettes


def test_what_is_no_file_of_text_is_named_in_plain_words(tmp_path: Path) -> None:
    file = themes(tmp_path)
    (tmp_path / "themes" / "folder.toml").mkdir()
    (tmp_path / "themes" / "latin.toml").write_bytes("# Stra\u00dfe".encode("latin-1"))
    problems = load(file, "")[0].theme_problems
    folder, latin = problems["folder"], problems["latin"]
    assert folder.endswith("folder.toml is not used as a theme: Is a directory")
    assert latin.endswith("latin.toml is not used as a theme: it is no text in UTF-8, at byte 6")


def test_colours_that_are_hard_to_read_are_named(tmp_path: Path) -> None:
    file = themes(tmp_path, mud="[log]\ntime = '#333333'\n")
    assert load(file, "")[1] == []
    preferences, (warning,) = load(file, '{"theme": "mud"}')
    assert "mud" in preferences.palettes
    assert "hard to read on its background: time (1." in warning


def test_colours_of_nicks_suit_a_background_of_ones_own(tmp_path: Path) -> None:
    preferences, _ = load(themes(tmp_path, paper="base = 'light'\n[screen]\nbackground = '#f4ecd8'\n"), "")
    assert "nick" not in preferences.theme_problems.get("paper", "")


@staged()
async def test_a_theme_that_was_written_meanwhile_is_taken(s: Stage) -> None:
    """It counted from the next start on."""
    s.app.preferences.file = themes(s.world.folder, sea=SEA, bad="colour = 1")
    await s.enter("/theme sea")
    assert s.app.theme == "own-sea"
    await s.enter("/theme bad")
    assert "it has 'colour'; there are base" in s.hint()


@staged()
async def test_an_own_theme_is_offered_and_taken(s: Stage) -> None:
    s.app.preferences.palettes["sea"] = load(themes(s.world.folder, sea=SEA), "")[0].palettes["sea"]
    await s.press("ctrl+p", *"theme")
    await s.press("space", *"sea")
    await s.until(lambda: s.app.theme == "own-sea", "it is not shown while it is highlighted")
    await s.press("escape", "escape")
    assert s.app.theme == "chat-dark"
    await s.enter_instead("/theme sea")
    assert s.app.theme == "own-sea"


def keys(*pieces: str, pause: float = 0.0) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Return the keys and the colours that a parser makes of these pieces."""
    parser, found = KeyParser(), []
    for piece in pieces:
        found += [*parser.feed(piece)]
    time.sleep(pause)
    found += [*parser.tick()]
    time.sleep(pause)
    found += [*parser.tick()]
    return (
        [event.key for event in found if isinstance(event, events.Key)],
        [event.colour for event in found if isinstance(event, BackgroundNamed)],
    )


@pytest.mark.parametrize("at", range(len(ANSWER) + 1))
def test_an_answer_in_two_pieces_is_no_key(at: int) -> None:
    assert keys("a" + ANSWER[:at], ANSWER[at:] + "b") == (["a", "b"], [(251, 251, 250)])


@pytest.mark.parametrize("answer", ["\x1b]11;rgb:00/00/00\x07", "\x1b]11;rgba:0000/0000/0000/ffff\x1b\\"])
def test_other_forms_of_the_answer_are_understood(answer: str) -> None:
    assert keys(answer) == ([], [(0, 0, 0)])


def test_an_answer_that_is_cut_off_or_nonsense_is_no_key_either() -> None:
    assert keys("\x1b]11;rgb:fb", pause=0.15) == ([], [])
    assert keys("\x1b]11;a colour\x07x") == (["x"], [])


def test_escape_alone_is_a_key_while_an_answer_is_waited_for() -> None:
    assert keys("\x1b", pause=0.15) == (["escape"], [])


def test_the_answer_of_a_light_terminal_makes_the_screen_light_and_reaches_no_input(tmp_path: Path) -> None:
    joined = command("join", "lobby", "--name", "ann", "--set", f"embedded.port={free_port()}")
    with Terminal(joined, tmp_path, env={"COLORFGBG": ""}) as terminal:
        terminal.until(lambda: b"\x1b]11;?" in terminal.written, "the question does not come")
        terminal.until_text("message lobby")
        assert b"48;2;251;251;250" not in terminal.written
        terminal.press(ANSWER[:9])
        terminal.press(ANSWER[9:])
        terminal.until(lambda: b"48;2;251;251;250" in terminal.written, "it stays dark")
        terminal.press("hello")
        terminal.until_text("> hello")
        assert "rgb" not in terminal.text()
        terminal.press("\x15\x03\x03")
        assert terminal.wait() == 0


@staged(no_color=True)
async def test_with_no_color_a_theme_is_kept_for_later_and_it_is_said_that_colours_are_off(s: Stage) -> None:
    await s.enter("/theme light")
    assert s.hint() == "NO_COLOR is set, so colours are off now. Theme at a start without it: light."
    assert s.app.palette is PLAIN
    assert s.app.preferences.theme == "light"


@staged(no_color=True, size=(80, 24))
async def test_without_colour_a_sign_tells_what_is_said_above_the_input_from_the_log(s: Stage) -> None:
    await s.enter("/alias")
    assert "» no aliases" in s.text()
    assert s.hint().startswith("no aliases")
    await s.enter("/mute")
    assert "‼ /mute needs somebody" in s.text()


@pytest.mark.parametrize("name", ["dark", "light", "contrast"])
def test_frames_and_what_stands_in_a_chosen_row_keep_their_contrast(name: str) -> None:
    palette = PALETTES[name]
    theme = palette.theme
    chosen = palette.styles["chosen"].bgcolor
    assert chosen is not None
    for style in (palette.styles["time"], palette.styles["id"], palette.styles["quote"], *palette.nicks):
        assert style.color is not None
        assert contrast(style.color.get_truecolor(), chosen.get_truecolor()) >= 4.5, style
    assert theme.secondary is not None
    assert theme.surface is not None
    assert contrast(Colour.parse(theme.secondary).rgb, Colour.parse(theme.surface).rgb) >= 3


@pytest.mark.parametrize("key", ["ctrl+f", "ctrl+p"])
def test_without_colour_the_cursor_of_each_input_stands_out(tmp_path: Path, key: str) -> None:
    """White below black, and both exchanged, is the background of a dark terminal."""

    @staged(theme="plain")
    async def story(s: Stage) -> None:
        await s.press(key, "x")
        assert s.app.focused is not None
        place = s.app.focused.content_region
        strip = s.app.screen._compositor.render_strips()[place.y].crop(place.x + 1, place.x + 2)
        (cursor,) = (style for _, style, _ in strip if style is not None)
        assert cursor.reverse
        assert cursor.bgcolor is not None
        assert cursor.bgcolor.is_default

    story(tmp_path)
