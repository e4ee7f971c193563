"""Rows as lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.color import Color

from sdschat.node.view.values import Lost
from sdschat.tui.model.items import Fate, GapItem, Item, NoteItem, Phase, Quote, Tone
from sdschat.tui.model.words import ASCII, UNICODE
from sdschat.tui.row_lines import Surroundings, day_line, hanging, item_lines, unread_line
from sdschat.tui.themes import PALETTES, READABLE, LineStyle, contrast, theme_in_force
from tests.tui.model.samples import BOB, NOON, entry, missing, own


def lines(item: Item, width: int = 80, look: LineStyle | None = None) -> list[str]:
    return ["".join(segment.text for segment in line) for line in item_lines(item, width, look or LineStyle(), NOON)]


def gap() -> GapItem:
    return GapItem(missing(3), (NOON, ""), "carol", "bob", ("bob", "dave"))


ITEMS: list[Item] = [
    entry(1, "a text that is long enough to be wrapped in every width that is tried here, and then some"),
    entry(2, "first\nsecond\n\nfourth", verdict="bad_signature"),
    own(3, "mine"),
    replace(entry(4, "an answer"), quote=Quote("f" * 64, "carol", "the question"), late=True),
    gap(),
    GapItem(Lost("e" * 64, BOB, NOON), (NOON, ""), "carol", ""),
    NoteItem("the program\nhas two lines to say", Tone.INFO, NOON, (NOON, ""), 1),
    NoteItem("attention", Tone.ALERT, NOON, (NOON, ""), 2),
    NoteItem(
        "  /bare     the log alone, for marking text with the mouse\n  late: above what was there already",
        Tone.HELP,
        NOON,
        (NOON, ""),
        3,
    ),
]


@pytest.mark.parametrize("width", [30, 40, 50, 69, 70, 80, 100, 200])
@pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)
def test_no_line_is_wider_than_the_log(item: Item, width: int) -> None:
    assert all(cell_len(line) <= width for line in lines(item, width))


def test_a_row_of_a_table_goes_on_below_its_text_behind_wide_letters() -> None:
    """It stood as many columns too far left as there were wide letters before."""
    assert [*hanging("山田太郎  not heard since they came", 28)] == ["山田太郎  not heard since", "          they came"]


def test_a_broken_row_goes_on_below_its_last_column_and_never_as_a_row() -> None:
    """It went on below the second of three columns, and in a narrow sheet as far left as the next row began."""
    row = "  ann  f18e4de4  here, not heard since they came"
    assert [*hanging(row, 40)] == ["  ann  f18e4de4  here, not heard since", "                 they came"]
    assert [*hanging(row, 30)] == ["  ann  f18e4de4  here, not", "       heard since they came"]
    long = "  eve-of-the-long-name  8a9ebae6  here, heard"
    assert [*hanging(long, 40)] == ["  eve-of-the-long-name  8a9ebae6  here,", "    heard"]


@given(st.text(max_size=200), st.integers(30, 120))
def test_no_message_writes_into_the_gutter(text: str, width: int) -> None:
    assert all(line.startswith("  ") for line in lines(entry(1, text), width))


@pytest.mark.parametrize("width", range(70, 90))
def test_a_mark_stands_beside_a_word_and_not_in_a_line_alone(width: int) -> None:
    text = "the timetable says 07:40, the sea says otherwise"
    shown = lines(replace(entry(1, text), late=True), width, LineStyle(ids=False))
    assert all(line.replace("late", "").strip() for line in shown)
    assert shown[-1].endswith("late")


def test_a_text_moves_for_the_tick_that_all_have_it_and_not_for_one_that_lives() -> None:
    text = "the timetable says 07:40, the sea says otherwise"
    all_have_it, lives = Fate(Phase.ACKED, full=True), Fate(Phase.UNACKED, addressed=frozenset({"1" * 64}))
    for fate, moves in ((all_have_it, True), (lives, False)):
        shown = lines(replace(own(1, text), fate=fate), 70, LineStyle(ids=False))
        assert len(shown) == 2
        assert ("otherwise" in shown[1]) == moves


def test_a_link_is_not_broken_for_a_mark_beside_it() -> None:
    link = "https://harbour.example/" + "k" * 30
    shown = lines(replace(entry(1, link), late=True), 75, LineStyle(ids=False))
    assert [line.strip() for line in shown[-2:]] == [shown[0].strip(), "late"]
    assert link in shown[0]


def test_what_is_to_the_user_has_a_bar_beside_all_its_lines() -> None:
    shown = lines(replace(entry(1, "ann: one two three four five six\nseven"), mention=True), 40)
    assert len(shown) > 2
    assert all(line.startswith("┃ ") for line in shown)


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_every_line_of_the_program_has_its_sign_in_the_gutter(glyphs: object) -> None:
    look = LineStyle(glyphs=glyphs)  # type: ignore[arg-type]
    for item in ITEMS[4:]:
        assert all(line[0] != " " for line in lines(item, 40, look))


def test_what_does_not_fit_into_a_line_of_a_table_goes_on_below_its_text() -> None:
    assert lines(ITEMS[-1], 40) == [
        "»   /bare     the log alone, for",
        "»             marking text with the",
        "»             mouse",
        "»   late: above what was there already",
    ]
    assert lines(ITEMS[-1], 30)[-2:] == ["»   late: above what was", "»   there already"]


def test_with_ascii_nothing_of_ours_is_beyond_it() -> None:
    for item in ITEMS:
        assert "".join(lines(item, 60, LineStyle(glyphs=ASCII))).isascii()


def test_state_and_id_stand_at_the_right_of_the_last_line() -> None:
    found = lines(own(3, "mine"), 80)
    assert len(found) == 1
    assert found[0].endswith("⇡ unacked  0003")


def test_marks_without_room_get_a_line_of_their_own() -> None:
    found = lines(entry(1, "x" * 32, verdict="bad_signature"), 50)
    assert found[-1].strip() == "BAD SIGNATURE"


def test_that_a_key_is_new_takes_no_line_of_a_narrow_screen() -> None:
    new = entry(1, "x" * 32, verdict="new")
    assert len(lines(new, 50)) == 1
    assert "new key" not in lines(new, 50)[0]
    assert lines(entry(1, "short", verdict="new"), 50)[0].endswith("new key")
    assert lines(entry(1, "x" * 52, verdict="new"), 80)[-1].split()[:2] == ["new", "key"], "there is room for it"
    assert lines(replace(new, late=True), 50)[-1].strip() == "late"


def test_a_count_says_how_many_have_it() -> None:
    item = replace(own(3), fate=Fate(Phase.ACKED, frozenset(("bob", "carol"))))
    assert "✓ acked 2" in lines(item)[0]


def test_a_gap_says_who_asks_when_and_who_may_answer() -> None:
    assert lines(gap(), 120)[0].startswith(
        "⇣ 1 message by carol missing, and one by bob waits for it: we ask in 00:12 ▰▰▱▱▱; bob and dave may answer"
    )


def test_the_bar_of_a_gap_fills_until_it_is_asked_for() -> None:
    bars = [
        "".join(segment.text for segment in item_lines(gap(), 120, LineStyle(), at)[0]).count("▰")
        for at in (NOON - 8_000, NOON, NOON + 4_000, NOON + 12_000)
    ]
    assert bars == [0, 2, 3, 5]


def test_a_quote_that_is_not_here_says_so() -> None:
    item = replace(entry(4), quote=Quote("abcdef", "", ""))
    assert "answers abcd, which is not here" in lines(item)[0]


def test_a_link_is_a_link_of_the_terminal_only_if_wanted() -> None:
    item = entry(1, "see https://a.example/x now")
    links = [
        segment.style.link for line in item_lines(item, 80, LineStyle(), NOON) for segment in line if segment.style
    ]
    assert "https://a.example/x" in links
    plain = item_lines(item, 80, LineStyle(links=False), NOON)
    assert not any(segment.style.link for line in plain for segment in line if segment.style)


def test_the_bar_of_a_gap_stands_beside_its_time_at_any_width() -> None:
    for width in range(30, 130):
        lines = item_lines(gap(), width, LineStyle(), NOON)
        assert any("00:12 ▰" in "".join(segment.text for segment in line) for line in lines), width


def test_a_wrapped_link_stays_whole_in_every_part() -> None:
    item = entry(1, "https://a.example/" + "x" * 100)
    found = [
        segment
        for line in item_lines(item, 60, LineStyle(), NOON)
        for segment in line
        if segment.style and segment.style.link
    ]
    assert "".join(segment.text for segment in found) == item.text
    assert {segment.style.link for segment in found if segment.style} == {item.text}


def test_a_link_that_begins_like_another_is_one_of_its_own() -> None:
    item = entry(1, "https://a.example/b https://a.example/b/c")
    (line,) = item_lines(item, 120, LineStyle(), NOON)
    links = [segment for segment in line if segment.style and segment.style.link]
    assert [(segment.text, segment.style.link) for segment in links if segment.style] == [
        ("https://a.example/b", "https://a.example/b"),
        ("https://a.example/b/c", "https://a.example/b/c"),
    ]


def test_a_nick_has_one_colour_everywhere() -> None:
    look = LineStyle()
    assert look.nick_style(BOB) == look.nick_style(BOB)
    assert len({str(look.nick_style(f"sender {number}")) for number in range(200)}) > 8


def test_no_two_of_the_first_twelve_have_one_colour() -> None:
    look = LineStyle()
    assert len({str(look.nick_style(f"sender {number}")) for number in range(12)}) == 12


@pytest.mark.parametrize("group", range(20))
def test_the_first_four_have_colours_that_are_told_apart(group: int) -> None:
    look = LineStyle()
    for number in range(4):
        look.nick_style(f"sender {group} {number}")
    places = sorted(look.hues.values())
    assert min((after - before) % 12 for before, after in zip(places, places[1:] + places[:1], strict=True)) >= 2


def test_those_present_have_colours_of_their_own_whoever_wrote_before() -> None:
    look = LineStyle()
    for number in range(30):
        look.nick_style(f"gone {number}")
    here = [f"here {number}" for number in range(12)]
    assert look.keep_apart(here[:3])
    before = [look.nick_style(one) for one in here[:3]]
    assert look.keep_apart(here)
    assert len({str(look.nick_style(one)) for one in here}) == 12
    assert [look.nick_style(one) for one in here[:3]] == before, "and keep them"
    assert not look.keep_apart(here)
    assert not look.keep_apart([*here, "one too many"])


def test_a_text_and_its_marks_stay_together_on_a_wide_screen() -> None:
    (line,) = lines(own(1, "short"), 200)
    assert len(line.rstrip()) <= 160
    longest = max(lines(entry(1, "word " * 100), 200), key=len)
    assert 100 <= len(longest.rstrip()) <= 160


@pytest.mark.parametrize("name", PALETTES)
def test_every_theme_has_every_style(name: str) -> None:
    assert set(PALETTES[name].styles) == set(PALETTES["dark"].styles)


def test_the_plain_theme_names_no_colour() -> None:
    assert all(style.color is None and style.bgcolor is None for style in PALETTES["plain"].styles.values())


def test_rules_are_as_wide_as_the_log() -> None:
    for width in (20, 51, 100):
        assert sum(len(segment.text) for segment in unread_line(width, LineStyle())) == width
        assert sum(len(segment.text) for segment in day_line(NOON, width, LineStyle())) >= width


@pytest.mark.parametrize("name", ["dark", "light", "contrast"])
def test_the_nick_of_everybody_can_be_read_on_its_background(name: str) -> None:
    palette = PALETTES[name]
    background = Color.parse(palette.theme.background or "").rgb
    found = [Color.from_rich_color(style.color).rgb for style in palette.nicks]
    assert min(contrast(colour, background) for colour in found) >= READABLE
    assert len(set(found)) == 12


@pytest.mark.parametrize("name", ["dark", "light", "contrast"])
def test_every_text_can_be_read_on_the_log_and_on_a_sheet(name: str) -> None:
    palette = PALETTES[name]
    inks = {each: style.color for each, style in palette.styles.items() if style.color and not style.reverse}
    for ground in (palette.theme.background, palette.theme.surface):
        under = Color.parse(ground or "").rgb
        for each, ink in inks.items():
            assert contrast(Color.from_rich_color(ink).rgb, under) >= READABLE, f"{each} on {ground}"


@pytest.mark.parametrize(
    ("said", "theme"),
    [("0;15", "light"), ("0;default;7", "light"), ("15;0", "dark"), ("default", "dark"), ("", "dark")],
)
def test_the_theme_follows_the_background_that_the_terminal_names(
    said: str, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", said)
    assert theme_in_force("auto") == theme
    assert theme_in_force("contrast") == "contrast"


@pytest.mark.parametrize(
    ("verdict", "name"),
    [("new", "time"), ("unsigned", "remark"), ("bad_signature", "refused"), ("mismatched", "refused")],
)
def test_a_forgery_stands_out_more_than_a_message_without_a_signature(verdict: str, name: str) -> None:
    """Both had the colour of a warning; without colours both were bold."""
    line_style, said = LineStyle(), entry(1, "hi", verdict=verdict)
    drawn = [each for line in item_lines(said, 80, line_style, NOON) for each in line if each.text == said.remark]
    assert [each.style for each in drawn] == [line_style.style(name)]


def test_below_another_message_of_the_author_neither_nick_nor_minute_is_said_again() -> None:
    (again,) = item_lines(entry(1, "and so on"), 80, LineStyle(), NOON, Surroundings((), True, True))
    text = "".join(segment.text for segment in again)
    assert "bob" not in text
    assert ":" not in text
    assert text.split()[:4] == ["⋅", "and", "so", "on"]


def test_a_text_from_right_to_left_is_isolated_from_the_columns_beside_it() -> None:
    hebrew = "\u05e9\u05dc\u05d5\u05dd"
    (line,) = lines(own(1, f"{hebrew} 12"), 80)
    assert f"\u2068{hebrew} 12\u2069" in line
    assert line.count("\u2068") == line.count("\u2069") == 1
    assert cell_len(line) == cell_len(lines(own(1, "abcd 12"), 80)[0])


def test_a_line_of_the_program_with_a_nick_from_right_to_left_stays_in_order() -> None:
    note = NoteItem("\u05e2\u05de\u05d9 is now known as 7", Tone.INFO, NOON, (NOON, ""), 1)
    (line,) = lines(note, 80)
    assert line.startswith("» \u2066"), "its words stay in order"
    assert line.rstrip().endswith("\u2069")


def test_a_quote_has_its_sign_and_nick_before_the_text_whichever_way_that_goes() -> None:
    item = replace(entry(4), quote=Quote("f" * 64, "\u05e2\u05de\u05d9", "\u05e9 12"))
    assert "\u2066↳ \u05e2\u05de\u05d9: \u05e9 12" in lines(item)[0]


def test_no_text_can_end_its_isolation() -> None:
    (line,) = lines(entry(1, "\u05e9\u2069\u202e evil"), 80)
    assert line.count("\u2069") == 1
    assert " evil\u2069" in line
    assert "\u202e" not in line


def test_signs_are_of_blocks_that_monospaced_fonts_have() -> None:
    blocks = ((0x20, 0xFF), (0x2010, 0x2044), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2500, 0x25FF), (0x2713, 0x2717))
    assert [sign for sign in UNICODE if not any(low <= ord(sign) <= high for low, high in blocks)] == []
