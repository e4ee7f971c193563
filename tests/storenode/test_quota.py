"""Limits of a Store's work for each asker."""

from __future__ import annotations

from sdschat.node.store_server.quota import Quota


def test_who_asks_without_end_is_told_to_wait_and_others_are_not() -> None:
    quota = Quota(each=1000, all_=10_000, queries=5)
    assert quota.may_have("greedy", 0)
    quota.given("greedy", 1500, 0)
    assert not quota.may_have("greedy", 0)
    assert quota.may_have("modest", 0)
    assert quota.may_have("greedy", 60_000)
    assert [quota.may_ask("greedy", 0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert quota.may_ask("modest", 0)


def test_all_together_have_a_bound_too() -> None:
    quota = Quota(each=1000, all_=1500)
    for requester in ("a", "b"):
        quota.given(requester, 800, 0)
    assert not quota.may_have("c", 0)
    assert quota.may_have("c", 30_000)


def test_a_flood_of_askers_has_a_bound_too() -> None:
    quota = Quota(queries=5, queries_all=20)
    assert sum(quota.may_ask(f"asker {number}", 0) for number in range(50)) == 20
    assert quota.may_ask("later", 60_000)
