"""The state of an own message only ever goes forward."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdschat.tui.model.items import Fate, Phase
from sdschat.tui.model.own_fates import OwnFates
from sdschat.tui.model.words import ASCII, UNICODE, Glyphs
from sdschat.tui.row_lines import fate_words, tick
from sdschat.tui.themes import LineStyle

HERE = ("bob", "carol", "dave")
people = st.frozensets(st.sampled_from(HERE))
fates = st.builds(Fate, st.sampled_from(Phase), people, people, people, st.sampled_from(("", "too large")))


@given(st.lists(fates))
def test_no_order_of_events_lowers_a_state(found: list[Fate]) -> None:
    fate = Fate(Phase.QUEUED)
    for told in found:
        before = fate
        fate = (fate.refuse("too large") if told.refused else fate.moved(told)).among(HERE)
        assert fate.phase >= before.phase
        assert fate.known >= before.known
        assert fate.perhaps >= before.perhaps - fate.known
        assert fate.full >= before.full


def test_what_was_sent_before_this_start_can_still_be_refused() -> None:
    before = Fate(Phase.UNACKED, unsure=True)
    refused = before.refuse("no leave to write")
    assert refused == Fate(Phase.QUEUED, refused="no leave to write")
    assert before.moved(refused) == refused
    taken = before.moved(Fate(Phase.UNACKED))
    assert taken.refuse("no leave to write") == taken == Fate(Phase.UNACKED)
    assert refused.moved(Fate(Phase.UNACKED)) == Fate(Phase.UNACKED)


def test_everybody_stands_in_one_place() -> None:
    fate = Fate(Phase.MAYBE, some("bob"), some("carol"), some("dave")).moved(
        Fate(Phase.ACKED, some("carol"), some("bob", "dave"), some("bob"))
    )
    assert fate == Fate(Phase.ACKED, some("bob", "carol"), some("dave"))


def test_the_tick_has_a_cell_for_each_who_is_here() -> None:
    fate = Fate(Phase.ACKED, some("bob", "eve"), some("carol"), some("dave"))
    assert drawn(fate, ("bob", "carol", "dave", "frank")) == "●◐◌○ 1/4"
    assert drawn(fate, ("bob", "carol", "dave", "frank"), ASCII) == "+?~- 1/4"
    assert drawn(Fate(Phase.UNACKED), ("bob",)) == "○ 0/1"


def test_each_cell_has_the_colour_of_its_participant() -> None:
    look = LineStyle()
    cells = tick(Fate(Phase.UNACKED), HERE, look)[:3]
    assert [segment.style for segment in cells] == [look.nick_style(one) for one in HERE]


def test_above_eight_participants_the_tick_is_a_bar() -> None:
    many = tuple(f"p{number}" for number in range(16))
    assert drawn(Fate(Phase.ACKED, some(*many[:4])), many) == "▰▰▱▱▱▱▱▱ 4/16"


def test_when_all_who_are_here_have_it_one_sign_is_left_for_good() -> None:
    fate = Fate(Phase.ACKED, some(*HERE)).among(HERE)
    assert drawn(fate, HERE) == drawn(fate, (*HERE, "eve")) == "✓"


def test_who_went_away_without_it_keeps_a_cell_of_another_sign() -> None:
    fate = Fate(Phase.ACKED, some("bob"), addressed=some(*HERE)).among(("bob", "dave"))
    assert drawn(fate, ("bob", "dave")) == "●○▫ 1/3"
    fate = fate.moved(Fate(Phase.ACKED, some("dave"))).among(("bob", "dave"))
    assert drawn(fate, ("bob", "dave")) == "●●▫ 2/3"
    assert drawn(fate, ("bob", "dave"), ASCII) == "++_ 2/3"
    back = fate.moved(Fate(Phase.ACKED, some("carol"))).among(HERE)
    assert drawn(back, HERE) == "✓"
    perhaps = Fate(Phase.ACKED, some("bob", "dave"), some("carol"), addressed=some(*HERE))
    assert drawn(perhaps.among(("bob", "dave")), ("bob", "dave")) == "●●◐ 2/3"


def test_cells_stay_when_the_last_one_goes_away() -> None:
    """A green *acked 1* stood there, while the details named who went away without the message."""
    fate = Fate(Phase.ACKED, some("bob"), addressed=some("bob", "carol")).among(("bob", "carol"))
    assert drawn(fate, ("bob", "carol")) == "●○ 1/2"
    assert drawn(fate.among(()), ()) == "●▫ 1/2"
    assert drawn(Fate(Phase.UNACKED, addressed=some("bob")), ()) == "▫ 0/1"
    assert drawn(Fate(Phase.ACKED, some("bob"), addressed=some("bob")), ()) == "✓ acked 1"
    assert drawn(Fate(Phase.UNACKED), ()) == "⇡ unacked", "nobody was here"


def test_who_is_removed_from_a_private_channel_is_waited_for_no_more() -> None:
    members = {"bob", "carol", "dave"}
    fates = OwnFates(lambda ids: frozenset(ids & members))
    fates.gathered(HERE)
    fates.queued("m")
    fates.move("m", Fate(Phase.ACKED, some("bob", "dave")), None)
    assert fates.gathered(("bob", "dave")) == []
    members.remove("carol")
    assert fates.gathered(("bob", "dave")) == ["m"]
    assert (fates.of("m") or Fate(Phase.QUEUED)).full


def test_with_nobody_here_the_tick_is_a_word() -> None:
    assert drawn(Fate(Phase.UNACKED), ()) == "⇡ unacked"
    assert drawn(Fate(Phase.ACKED, some("bob")), ()) == "✓ acked 1"


def test_what_is_not_sent_or_is_of_an_earlier_run_has_no_cells() -> None:
    assert drawn(Fate(Phase.QUEUED), HERE) == "⋯ queued"
    assert drawn(Fate(Phase.ACKED, some("bob"), past=True), HERE) == "✓ acked 1"


def some(*ids: str) -> frozenset[str]:
    return frozenset(ids)


def drawn(fate: Fate, present: tuple[str, ...], glyphs: Glyphs = UNICODE) -> str:
    return "".join(segment.text for segment in tick(fate, present, LineStyle(glyphs=glyphs)))


def test_only_what_nobody_has_can_be_refused() -> None:
    assert Fate(Phase.QUEUED).refuse("too large").refused == "too large"
    assert Fate(Phase.UNACKED).refuse("too large").refused == ""


def test_a_refused_message_that_goes_out_after_all_is_not_refused_any_more() -> None:
    assert Fate(Phase.QUEUED).refuse("too large").moved(Fate(Phase.UNACKED)).refused == ""


def test_every_state_has_a_sign_and_a_word_of_its_own() -> None:
    for glyphs in (UNICODE, ASCII):
        shown = [fate_words(Fate(phase), glyphs)[0] for phase in Phase]
        shown.append(fate_words(Fate(Phase.QUEUED, refused="no"), glyphs)[0])
        signs, words = zip(*(words.split() for words in shown), strict=True)
        assert len(set(signs)) == len(set(words)) == 5


def test_who_has_it_is_counted_once_anybody_may_have_it() -> None:
    assert fate_words(Fate(Phase.MAYBE, perhaps=some("bob")), UNICODE)[0] == "◐ perhaps 1"
    assert fate_words(Fate(Phase.ACKED, some(*HERE), some("eve")), UNICODE)[0] == "✓ acked 3"
    assert fate_words(Fate(Phase.UNACKED), UNICODE)[0] == "⇡ unacked"


def test_no_sign_takes_two_cells_or_depends_on_the_font() -> None:
    import unicodedata

    others = [sign for sign in UNICODE if not "\u2500" <= sign <= "\u257f"]  # every terminal draws boxes in one cell
    others = [sign for sign in others if sign not in "●◐○…"]  # two cells only where the terminal is told so
    assert [sign for sign in others if unicodedata.east_asian_width(sign) not in ("N", "Na")] == []
    assert all(sign.isascii() and len(sign) == 1 for sign in ASCII)
    apart = (ASCII.mention, ASCII.again, ASCII.between, ASCII.chosen, ASCII.alert)
    assert len({*apart, "|"}) == len(apart), "what separates and frames is no sign of a message"
