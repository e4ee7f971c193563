"""Parsing of points in time as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_AGO: Final = re.compile(r"(\d+)\s*([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def parse_moment(text: str, now: datetime) -> datetime:
    """Parse 10:02, 2025-11-20, 2025-11-20 10:02, 30m (ago) or yesterday. Raises ValueError."""
    text = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        return midnight - timedelta(days=text == "yesterday")
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])
    found = _CLOCK.fullmatch(text)
    if found is not None:
        moment = midnight.replace(hour=int(found[1]), minute=int(found[2]), second=int(found[3] or 0))
        return moment - timedelta(days=1) if moment > now else moment
    return datetime.fromisoformat(text)
