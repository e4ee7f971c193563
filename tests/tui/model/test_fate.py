"""The state of an own message only ever goes forward."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sdschat.tui.line_style import fate_words
from sdschat.tui.model.glyphs import ASCII, UNICODE
from sdschat.tui.model.items import Fate, Phase

steps = st.lists(
    st.one_of(
        st.tuples(st.just("move"), st.sampled_from(Phase), st.integers(0, 5)),
        st.tuples(st.just("refuse"), st.just(Phase.QUEUED), st.just(0)),
    )
)


@given(steps)
def test_no_order_of_events_lowers_a_state(found: list[tuple[str, Phase, int]]) -> None:
    fate = Fate(Phase.QUEUED)
    for what, phase, by in found:
        before = fate
        fate = fate.refuse("too large") if what == "refuse" else fate.moved(phase, by)
        assert fate.phase >= before.phase
        assert fate.by >= before.by or fate.phase > before.phase


def test_those_who_perhaps_have_it_are_not_counted_among_those_who_have() -> None:
    assert Fate(Phase.MAYBE, 7).moved(Phase.ACKED, 1) == Fate(Phase.ACKED, 1)
    assert Fate(Phase.ACKED, 1).moved(Phase.MAYBE, 7) == Fate(Phase.ACKED, 1)


def test_only_what_nobody_has_can_be_refused() -> None:
    assert Fate(Phase.QUEUED).refuse("too large").refused == "too large"
    assert Fate(Phase.UNACKED).refuse("too large").refused == ""


def test_a_refused_message_that_goes_out_after_all_is_not_refused_any_more() -> None:
    assert Fate(Phase.QUEUED).refuse("too large").moved(Phase.UNACKED, 0).refused == ""


def test_every_state_has_a_sign_and_a_word_of_its_own() -> None:
    for glyphs in (UNICODE, ASCII):
        shown = [fate_words(Fate(phase), glyphs)[0] for phase in Phase]
        shown.append(fate_words(Fate(Phase.QUEUED, refused="no"), glyphs)[0])
        signs, words = zip(*(words.split() for words in shown), strict=True)
        assert len(set(signs)) == len(set(words)) == 5


def test_who_has_it_is_counted_once_anybody_may_have_it() -> None:
    assert fate_words(Fate(Phase.MAYBE, 1), UNICODE)[0] == "◌ perhaps 1"
    assert fate_words(Fate(Phase.ACKED, 3), UNICODE)[0] == "✓ acked 3"
    assert fate_words(Fate(Phase.UNACKED, 0), UNICODE)[0] == "⇡ unacked"


def test_no_sign_takes_two_cells_or_depends_on_the_font() -> None:
    import unicodedata

    others = [sign for sign in UNICODE if not "\u2500" <= sign <= "\u257f"]  # every terminal draws boxes in one cell
    assert [sign for sign in others if unicodedata.east_asian_width(sign) not in ("N", "Na")] == []
    assert all(sign.isascii() and len(sign) == 1 for sign in ASCII)
