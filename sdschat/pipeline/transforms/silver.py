"""The tables from which audit and figures are computed."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame


class SilverTables(NamedTuple):
    """The silver tables Event, Copy, Presence and Fingerprint; and Node and Declared of the latest readings."""

    events: DataFrame
    copies: DataFrame
    presences: DataFrame
    fingerprints: DataFrame
    nodes: DataFrame
    declared: DataFrame
