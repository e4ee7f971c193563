"""One sentence says who has not confirmed an own message, why, and when the next chance is."""

from __future__ import annotations

import pytest

from sdschat.node.view.members import PostJourney
from sdschat.node.view.values import AckState, Evidence, OwnFate, Participant
from sdschat.sds.state import Peers
from sdschat.tui.model.delivery import delivery_sentence, journey_sentence
from tests.tui.model.samples import NOON

NOW = NOON + 41_000
ME = Participant("me", "ann", True, 0, True)


def person(nick: str, heard: int = 0, next_in: int = 0, *, here: bool = True) -> Participant:
    """Return a participant. `heard`: milliseconds after the message was written; 0: never."""
    expected = NOW + next_in if next_in else 0
    return Participant(nick, nick, here, NOON + heard if heard else 0, False, next_at=expected)


def sentence(*others: Participant, known: tuple[str, ...] = (), perhaps: tuple[str, ...] = (), due: int = 0) -> str:
    evidence = [Evidence(one, "mention", "p", NOON, 0.0) for one in known]
    evidence += [Evidence(one, "filter", "p", NOON, 1e-7) for one in perhaps]
    own = OwnFate(AckState.ACKED if known else AckState.UNACKED, 1, NOW + due if due else 0, tuple(evidence))
    return delivery_sentence(own, [ME, *others], NOON, NOW)


def test_it_says_who_was_not_heard_since_and_when_the_next_chance_is() -> None:
    found = sentence(person("bob", 5), person("carol", -2000, 12_000), known=("bob",))
    assert found == (
        "carol has not confirmed: last heard 43s ago, before this was written; next chance in about 12s. "
        "bob is known to have it."
    )


def test_it_says_who_spoke_since_without_naming_it() -> None:
    assert "carol has not confirmed: last heard 36s ago, with no word of it" in sentence(person("carol", 5000))


def test_it_says_who_came_after_it_was_written_if_that_is_known() -> None:
    """The cells count who was here then, so that all may have it though this one has not. Whoever was here, went and
    came back was said to have come later."""
    bob = person("bob", 5000)._replace(came_at=NOON + 4000)
    own = OwnFate(AckState.UNACKED, 1, 0, ())
    found = delivery_sentence(own, [ME._replace(came_at=NOON - 1), bob], NOON, NOW)
    assert found.startswith("bob has not confirmed: came since then, last heard 36s ago, with no word of it")
    before = delivery_sentence(own, [ME._replace(came_at=NOON + 1), bob], NOON, NOW)
    assert before.startswith("bob has not confirmed: last heard 36s ago")


def test_a_resend_may_be_the_next_chance() -> None:
    assert sentence(person("bob", -1, 30_000), due=9000).endswith("; sent again in about 9s.")
    assert sentence(person("bob", -1, 30_000), due=90_000).endswith("; next chance in about 30s.")


def test_less_than_a_second_is_not_called_0s() -> None:
    assert sentence(person("bob", -1, 300)).endswith("; next chance within a second.")


def test_without_a_connection_it_says_so_and_nobody_is_called_away() -> None:
    own, people = OwnFate(AckState.UNACKED, 1, 0, ()), [ME, person("bob", 5), person("cat", here=False)]
    assert delivery_sentence(own, people, NOON, NOW, connected=False) == (
        "There is no connection, so nobody can confirm it now. Not known to have it: bob and cat."
    )
    own = OwnFate(AckState.ACKED, 1, 0, (Evidence("bob", "mention", "p", NOON, 0.0),))
    assert delivery_sentence(own, people, NOON, NOW, connected=False) == (
        "bob is known to have it; not known to have it: cat."
    )


def test_who_is_late_is_waited_for() -> None:
    assert sentence(person("bob", -1, -5000)).endswith("; next chance when they are heard.")


def test_what_a_filter_holds_may_be_chance() -> None:
    assert sentence(person("bob", 5, 8000), perhaps=("bob",)) == "bob perhaps has it; next chance in about 8s."


def test_two_have_a_reason_each_and_more_share_one() -> None:
    few = sentence(person("bob"), person("carol", 40_000))
    assert few.startswith(
        "bob and carol have not confirmed: bob not heard yet, carol last heard 1s ago, with no word of it"
    )
    many = sentence(person("bob"), person("carol", 1000), person("dave", 40_000))
    assert many.startswith("bob, carol and dave have not confirmed: the last of them was heard 1s ago")


def test_when_all_have_it_only_that_is_said() -> None:
    assert sentence(person("bob", 5, 9000), person("eve", 5, here=False), known=("bob", "eve")) == (
        "bob and eve are known to have it."
    )


def test_who_is_away_and_may_lack_it_is_named() -> None:
    found = sentence(person("bob", 5, 9000), person("carl", -5, here=False), known=("bob",))
    assert found == "bob is known to have it; not here now, and not known to have it: carl."
    alone = sentence(person("bob", 5, here=False), person("carl", -5, here=False))
    assert alone.endswith(" ago. Not here now, and not known to have it: bob and carl.")


def test_with_nobody_here_it_says_who_was_heard_last() -> None:
    assert sentence() == "Nobody else was heard here yet, so nobody could confirm it."
    assert sentence(person("bob", 1000, here=False)) == "Nobody else is here to confirm it: bob was last heard 40s ago."


def test_the_next_packet_is_expected_after_the_usual_pace() -> None:
    peers = Peers()
    peer = peers.heard("bob", 1, 0)
    assert peer.expected_at(30_000) == 30_000
    for mono in (20_000, 20_300, 40_000):  # two within a second are one moment
        peers.heard("bob", 1, mono)
    assert 59_000 <= peer.expected_at(30_000) <= 60_000


def test_people_stand_in_one_order_whoever_was_heard_last() -> None:
    people = person("carol", 9), person("bob", 5), person("dave", 7)
    assert sentence(*people, known=("bob", "carol", "dave")) == "bob, carol and dave are known to have it."


def post_sentence(journey: PostJourney, *, connected: bool = True) -> str:
    return journey_sentence(journey, NOON, NOW, connected=connected)


@pytest.mark.parametrize(
    ("journey", "words"),
    [
        (
            PostJourney("queued", let_in=False),
            "You are not let in yet: it is here alone, and is written once a member lets you in.",
        ),
        (PostJourney("queued"), "It is here alone, and is written once its turn comes."),
        (PostJourney("settled"), "All members have it, and it is final."),
        (
            PostJourney("written", ME, removed=(person("carol"),)),
            "carol was removed, and the committee counts them until more than half of it puts them out. "
            "The others have it. Written into the log by you.",
        ),
        (
            PostJourney("known", person("bob")),
            "All members have it; it is final once they all know that of each other. Written into the log by bob.",
        ),
    ],
)
def test_the_sentence_for_a_post_that_nobody_lacks_or_that_is_here_alone(journey: PostJourney, words: str) -> None:
    assert post_sentence(journey) == words


def test_the_sentence_for_a_post_says_who_lacks_it_why_and_when_the_next_chance_is() -> None:
    def written(carol: Participant) -> PostJourney:
        return PostJourney("written", ME, (carol,), next_at=NOW + 4000)

    assert post_sentence(written(person("carol", -2000))) == (
        "carol has not shown yet to have it: last heard 43s ago, before this was written; next chance in about 4s. "
        "Written into the log by you."
    )
    assert post_sentence(written(person("carol", -2000, here=False))) == (
        "carol has not shown yet to have it: not here, last heard 43s ago, before this was written; next chance once "
        "they are here. Written into the log by you."
    )
    assert post_sentence(PostJourney("known", person("bob"), (person("carol", 5000), person("dave")))) == (
        "carol and dave have not shown yet to have it: carol last heard 36s ago, with no word of it, dave not heard "
        "yet; next chance when they are heard. Written into the log by bob."
    )
    assert post_sentence(written(person("carol", -2000)), connected=False) == (
        "There is no connection, so nobody can show now to have it. carol has not shown yet to have it. "
        "Written into the log by you."
    )


@pytest.mark.parametrize(
    ("word", "reached"),
    [
        ("queued", "It is here alone"),
        ("sent", "What became of it is not heard here any more"),
        ("known", "What became of it is not heard here any more"),
    ],
)
def test_a_post_of_who_was_removed_waits_for_nobody(word: str, reached: str) -> None:
    """It was said to be written once its turn comes, and to have a next chance."""
    cut_off = PostJourney(word, lacking=(person("bob", 5),), cut_off=True)
    assert journey_sentence(cut_off, NOON, NOW, connected=True) == (
        f"You were removed from this channel. {reached}, and nothing of yours is sent: a new invite changes that."
    )
    settled = journey_sentence(PostJourney("settled", cut_off=True), NOON, NOW, connected=True)
    assert settled == "All members have it, and it is final."
