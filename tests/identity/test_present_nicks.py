"""The first holder of a nick among those who only were here, and the keys that go by a nick."""

from __future__ import annotations

from sdschat.identity.lookalikes import NickUsers, PresentNicks, skeleton

ONE, TWO, THREE = b"1", b"2", b"3"


def test_the_first_one_by_a_nick_keeps_it_while_they_go_by_it() -> None:
    nicks = PresentNicks(9)
    nicks.note("bob", ONE)
    nicks.note("B\u043eb", TWO)
    assert nicks.first(skeleton("bob")) == ("bob", ONE)
    nicks.note("rob", ONE)
    assert nicks.first(skeleton("rob")) == ("rob", ONE)
    assert nicks.first(skeleton("bob")) is None
    nicks.note("bob", TWO)
    assert nicks.first(skeleton("bob")) == ("bob", TWO)


def test_so_many_keys_are_remembered_and_the_one_heard_longest_ago_is_forgotten() -> None:
    nicks = PresentNicks(2)
    for nick, key in (("ann", ONE), ("bob", TWO), ("ann", ONE), ("cid", THREE)):
        nicks.note(nick, key)
    assert [nicks.first(skeleton(nick)) for nick in ("ann", "bob", "cid")] == [("ann", ONE), None, ("cid", THREE)]


def test_the_date_of_a_key_is_forgotten_with_it() -> None:
    """It comes back as a new one, and what it said before is no older than what is known of it."""
    users = NickUsers(9)
    users.use(skeleton("ann"), ONE)
    users.note_date(ONE, 100, 0)
    users.forget(ONE)
    assert users.of(skeleton("ann")) == set()
    assert not users.note_date(ONE, 50, 0)
