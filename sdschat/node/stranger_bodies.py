"""Room made among what strangers said: bodies of those who were heard least lately go, and their ids stay.

Nobody can open who is not known apart any more, so their bodies go first, and then their rows of `standing`, which did
nothing but hide these bodies. So both are bounded, however many names and keys are made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from sdschat.identity.key_book import MAX_STRANGERS
from sdschat.node.channel.strangers import ChannelStrangers
from sdschat.node.channel.strangers_share import FORGOTTEN, StrangerAccounts, size_on_disk
from sdschat.node.node import Node
from sdschat.store.senders import (
    KeptBody,
    bodies_of_strangers,
    count_strangers,
    keep_as_ids,
    log_bounds,
    strangers,
)
from sdschat.store.store import Store

STEP: Final = 200  # bodies deleted at once
FORGOTTEN_KEPT: Final = 1_000  # rows of `standing` of strangers who are not known apart any more, about


class StrangerBodies:
    """Bodies of the messages of strangers, in all channels of a node."""

    def __init__(self, node: Node, store: Store) -> None:
        self._store = store
        self._node = node
        self._share = node.gate.share
        self._book = node.gate.book

    def tidy(self) -> Iterator[None]:
        """Make room if too little is left, step by step."""
        if not self._share.limit:
            return
        excess = self._share.excess
        if not excess and count_strangers(self._store) < 2 * MAX_STRANGERS + FORGOTTEN_KEPT:
            return
        hidden = [one for one in strangers(self._store) if self._is_forgotten(one[0])]
        accounts = {channel: self._accounts(channel) for channel in self._store.channels()}
        accounts = {channel: one for channel, one in accounts.items() if one.known or one.forgotten.senders}
        for channel, going in _least_lately(accounts, excess).items():
            yield from self._drop(channel, accounts[channel], going)
        for at in range(0, len(hidden), STEP):
            with self._store.transaction() as transaction:
                for sender_id, since in hidden[at : at + STEP]:
                    if self._is_forgotten(sender_id):
                        transaction.forget_standing(sender_id, since)
            yield

    def _is_forgotten(self, sender_id: str) -> bool:
        return not self._book.standing(sender_id)

    def _accounts(self, channel: str) -> StrangerAccounts:
        session = self._node.sessions.get(channel)
        found = (one for one in ([] if session is None else session.extensions) if isinstance(one, ChannelStrangers))
        strangers_here = next(found, None)
        return (
            StrangerAccounts(self._store, channel, self._share) if strangers_here is None else strangers_here.accounts
        )

    def _drop(self, channel: str, accounts: StrangerAccounts, going: dict[str, int]) -> Iterator[None]:
        """Delete the bodies of these senders, and of those without an account, in one walk through the log. `going`:
        when each of them was heard; who speaks meanwhile stays."""
        place, end = log_bounds(self._store, channel)

        def goes(sender_id: str) -> bool:
            known_apart = sender_id in accounts.known and not self._is_forgotten(sender_id)
            return not known_apart or accounts.known[sender_id].heard_at == going.get(sender_id)

        while place < end:
            page = bodies_of_strangers(self._store, place, end, STEP)
            place = page.place
            self._keep_as_ids(channel, accounts, [one for one in page.bodies if goes(one.entry.sender_id)])
            yield
        # What is counted still went before, because it was old.
        rest = accounts.empty([*filter(goes, accounts.known), FORGOTTEN])
        with self._store.transaction() as transaction:
            accounts.save(transaction, rest)

    def _keep_as_ids(self, channel: str, accounts: StrangerAccounts, bodies: list[KeptBody]) -> None:
        if not bodies:
            return
        sizes: Counter[str] = Counter()
        for body in bodies:
            sizes[body.entry.sender_id] += size_on_disk(body.size)
        with self._store.transaction() as transaction:
            keep_as_ids(transaction, channel, bodies)
            accounts.save(transaction, accounts.free(sizes))
        session = self._node.sessions.get(channel)
        if session is not None:
            session.channel.forget_bodies(self._node.clock.now(), [body.entry.message_id for body in bodies])


def _least_lately(accounts: dict[str, StrangerAccounts], excess: int) -> dict[str, dict[str, int]]:
    """Choose those who were heard least lately, as many as take so many bytes. Return the time at which each of them
    was heard, by channel."""
    chosen: dict[str, dict[str, int]] = {channel: {} for channel in accounts}
    excess -= sum(each.forgotten.size for each in accounts.values())
    known = (
        (one.heard_at, channel, sender, one.size)
        for channel, each in accounts.items()
        for sender, one in each.known.items()
    )
    for heard_at, channel, sender_id, size in sorted(known):
        if excess <= 0:
            break
        if size:
            chosen[channel][sender_id] = heard_at
            excess -= size
    return chosen
