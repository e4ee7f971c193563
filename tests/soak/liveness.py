"""The rules of liveness: the work that must end after the faults do, and the traffic of a group at rest."""

from __future__ import annotations

import base64
import collections
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from sdschat.sds.values import AckState, Message, MessageKind, Snapshot
from sdschat.store.reader import Reader
from sdschat.transport.base import DEFAULT_PREFIX, place
from sdschat.wire.sds_codec import SdsCodec

# Events of a node at rest: sync messages may bring further evidence, or a filter that it cannot use.
AT_REST: Final = frozenset({"sync_sent", "sync_received", "state", "filter_ignored"})


class Rest(NamedTuple):
    """The work that a node still has, by its database."""

    open: int = 0  # own messages that are unacknowledged or only possibly acknowledged
    held: int = 0  # messages that wait for dependencies
    missing: int = 0
    answers: int = 0
    pushes: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{count} {name}" for name, count in self._asdict().items() if count) or "nothing"


def rest_of(snapshot: Snapshot) -> Rest:
    return Rest(
        sum(row.state is not AckState.ACKED for row in snapshot.outgoing),
        len(snapshot.incoming),
        len(snapshot.missing),
        sum(row.due > 0 for row in snapshot.answers),
        sum(row.due > 0 for row in snapshot.pushes),
    )


def read_rest(path: Path, channel: str) -> Rest:
    with Reader.open(path, SdsCodec()) as reader:
        snapshot, _ = reader.snapshot(channel)
    return Rest() if snapshot is None else rest_of(snapshot)


def packets(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield topic and bytes of the packets that `sdschat tap` recorded, without those that the broker had retained."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            found = json.loads(line)
            if not found["retained"]:
                yield found["topic"], base64.b64decode(found["raw"])


def kinds(found: Iterable[tuple[str, bytes]]) -> collections.Counter[str]:
    """Count packets by kind. A sync message with a repair request counts as a request."""
    codec = SdsCodec()
    counted: collections.Counter[str] = collections.Counter()
    for topic, raw in found:
        where = place(topic, DEFAULT_PREFIX)
        if where is not None and where.what == "who":
            continue  # presences are repeated, whatever happens
        if where is None or where.what != "msg":
            what = f"{'unknown' if where is None else where.what} topic"
        else:
            message = codec.decode(raw)
            if not isinstance(message, Message):
                what = "broken"
            elif message.repair_request:
                what = "request"
            else:
                what = str(message.kind)
        counted[what] += 1
    return counted


def judge_quiet(events: Mapping[str, Mapping[str, int]], on_the_wire: Mapping[str, int]) -> list[str]:
    """Return the problems of a group at rest, from event counts by node and name, and packet counts by kind."""
    wrong = []
    for name, told in events.items():
        more = ", ".join(f"{count} {event}" for event, count in sorted(told.items()) if event not in AT_REST and count)
        if more:
            wrong.append(f"{name}, when nobody spoke any more and all was acknowledged: {more}")
    if more := ", ".join(f"{count} {kind}" for kind, count in sorted(on_the_wire.items()) if kind != MessageKind.SYNC):
        wrong.append(f"of a group at rest passed: {more}")
    if not on_the_wire.get(MessageKind.SYNC):
        wrong.append("no sync message passed")
    return wrong


def judge_rest(rests: Mapping[str, Rest]) -> list[str]:
    return [f"{name} never came to rest: {rest}" for name, rest in rests.items() if rest != Rest()]
