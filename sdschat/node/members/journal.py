"""Rows of the journal about a members' channel, for audits: checkpoints, committee, ballots, deletions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from sdschat.sds.values import Now
from sdschat.store.journal import BALLOT, DELETED, MEMBER, SETTLED, JournalRow, hash_text
from sdschat.timber import events as ev
from sdschat.timber.values import CheckpointMark, Kind, message_id_of, sender_of

_COMMITTEE: Final = ("member", "removed", "left")


def journal_rows(
    reports: Iterable[ev.Report],
    mark: CheckpointMark,
    data_set: bytes,
    channel: str,
    now: Now,
    person: Callable[[int], bytes],
) -> Iterator[JournalRow]:
    """Yield the rows of one step, after which the checkpoint is `mark`. `person` returns the member with a slot."""
    at = JournalRow("", channel, now.wall, now.mono * 1000, messages=mark.number)
    for report in reports:
        match report:
            case ev.Milestone(passed):
                yield at._replace(event=SETTLED, messages=passed.number, fingerprint=hash_text(passed.hash))
            case ev.MemberChanged(_, member, status) if status in _COMMITTEE:
                yield at._replace(event=MEMBER, peer=sender_of(member), cause=status)
            case ev.Decided(_, value, agreed, need) if value is not None:
                voters = tuple(sender_of(person(slot)) for slot in agreed)
                for slot, last in value.removed:
                    removed = sender_of(person(slot))
                    yield at._replace(event=BALLOT, peer=removed, lamport=last, deps=voters, attempt=need)
            case ev.EventSettled(_, Kind.DELETE, target, True) if target is not None:
                yield at._replace(event=DELETED, message_id=message_id_of(data_set, target))
            case ev.StateAdopted(taken, peer):
                sender = sender_of(peer)
                yield at._replace(event=SETTLED, messages=taken.number, fingerprint=hash_text(taken.hash), peer=sender)
