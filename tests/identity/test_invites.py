"""The signatures of an invite and of a joining cover all of it."""

from __future__ import annotations

import pytest

from sdschat.identity.private.link import accept, make_link, problem_with_join, read_link
from sdschat.identity.signing import Identity, key_pair
from sdschat.wire.private_codec import Genesis

ANN, BOB, EVE = (Identity(letter * 32) for letter in (b"a", b"b", b"e"))
GENESIS = Genesis(ANN.public_key, bytes(16), "garden", False)
NOW, SEED, OTHER_SEED = 1_000_000, b"1" * 32, b"2" * 32
LINK = read_link(make_link(ANN, GENESIS, bytes(32), SEED, uses=1, expires=NOW + 1, epoch=b"m" * 8), NOW)
FORGED = "its invite is forged, or for another channel"
NOT_VALID = "it has no valid invite"


def test_an_invite_lets_somebody_join() -> None:
    assert problem_with_join(GENESIS, accept(LINK, BOB), BOB.public_key) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"inviter_key": EVE.public_key},
        {"invite_key": key_pair(OTHER_SEED)[0]},  # of a seed that the forger knows
        {"uses": 0},
        {"expires": 0},
        {"epoch": b"n" * 8},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_an_invite_of_which_a_value_was_altered_lets_nobody_join(changes: dict[str, object]) -> None:
    invite = LINK.invite._replace(**changes)  # type: ignore[arg-type]
    seed = OTHER_SEED if "invite_key" in changes else SEED
    join = accept(LINK._replace(invite=invite, invite_seed=seed), EVE)
    assert problem_with_join(GENESIS, join, EVE.public_key) == FORGED


def test_an_invite_is_for_one_channel() -> None:
    other = GENESIS._replace(salt=b"s" * 16)
    assert problem_with_join(other, accept(LINK._replace(genesis=other), EVE), EVE.public_key) == FORGED


def test_a_joining_is_for_one_channel_one_key_and_one_voice() -> None:
    join = accept(LINK, BOB)
    elsewhere = accept(LINK._replace(genesis=GENESIS._replace(salt=b"s" * 16)), BOB)
    assert problem_with_join(GENESIS, join, EVE.public_key) == NOT_VALID
    assert problem_with_join(GENESIS, join._replace(silent=True), BOB.public_key) == NOT_VALID
    assert problem_with_join(GENESIS, elsewhere, BOB.public_key) == NOT_VALID
