"""Everything that audit and figures start from."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame


class Silver(NamedTuple):
    """Event, Copy, Presence, Fingerprint; Node and Declared of the latest readings."""

    events: DataFrame
    copies: DataFrame
    presences: DataFrame
    fingerprints: DataFrame
    nodes: DataFrame
    declared: DataFrame
