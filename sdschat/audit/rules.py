"""The assumptions of the audit, the same for both engines, plain Python and Spark."""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_LAMPORT: Final = 2**43 - 1  # as in the engine: values from 2**43 on are refused


class Rules(NamedTuple):
    """The limits of an audit. Times are in milliseconds."""

    settle: int = 120_000  # a node seen for less than this time after a message is lagging, and does not lack it
    max_skew: int = 600_000  # `sds.max_skew` of the nodes: for the join horizon, and for dates in the future


DEFAULT: Final = Rules()

LOST, LAGGING, JOINED_LATER, RETENTION = "lost", "lagging", "joined_later", "retention"
