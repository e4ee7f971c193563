"""The members of private channels, by several databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from sdschat.identity.private.roster import Roster, SignedOperation, fold
from sdschat.node.private.record import load_operations, load_record, private_channels
from sdschat.store.errors import StoreError
from sdschat.store.reader import Reader
from sdschat.wire.private_codec import Genesis
from sdschat.wire.sds_codec import SdsCodec


def rosters(paths: Iterable[Path]) -> dict[str, Roster]:
    """Return the members of each private channel after the operations that any of the databases has."""
    begun: dict[str, Genesis] = {}
    operations: dict[str, list[SignedOperation]] = defaultdict(list)
    for path in paths:
        try:
            with Reader.open(path, SdsCodec()) as reader:
                for channel in private_channels(reader):
                    record = load_record(reader, channel)
                    if record is not None:
                        begun[channel] = record.genesis
                        operations[channel] += load_operations(reader, channel)
        except (StoreError, ValueError, TypeError, KeyError, AssertionError):
            continue  # the reader of the logs names this database
    return {channel: fold(genesis, operations[channel]) for channel, genesis in begun.items()}
