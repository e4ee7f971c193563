"""Moments as people write them, and lines of search words with moments among them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
_AGO: Final = re.compile(r"(\d+)\s*([smhdw])")
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_EPOCH: Final = re.compile(r"[0-9]{11,}")
_EXAMPLES: Final = "10:02, 2026-01-31, 2026-01-31T15:00, 30m or 2d for so long ago, yesterday, or epoch milliseconds"
_SEARCHED: Final = "10:02, 2025-11-20, 2h, 3d or yesterday"
_FARTHEST: Final = 2**62  # milliseconds: a database compares with numbers of 64 bits
_TO_ME: Final = "to:me"
_NAMES: Final = ("from", "since", "before", "until")


def parse_moment(text: str, now: int) -> int:
    """Return epoch milliseconds of a moment such as 10:02, 2026-01-31, 30m (ago) or yesterday. `now`: epoch
    milliseconds. Raises ValueError, which says what can be written."""
    try:
        found = _parsed(text.strip().lower(), now)
        if abs(found) > _FARTHEST:
            raise OverflowError
        return found
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{text.strip()!r} is no moment. Write {_EXAMPLES}.") from None


def _parsed(text: str, now: int) -> int:
    today = datetime.fromtimestamp(now / 1000)
    midnight = today.replace(hour=0, minute=0, second=0, microsecond=0)
    if text == "now":
        return now
    if text in ("today", "yesterday"):
        return _milliseconds(midnight - timedelta(days=text == "yesterday"))
    if _EPOCH.fullmatch(text):
        return int(text)
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _UNITS[ago[2]] * 1000
    found = _CLOCK.fullmatch(text)
    if found is not None:
        moment = midnight.replace(hour=int(found[1]), minute=int(found[2]), second=int(found[3] or 0))
        return _milliseconds(moment - timedelta(days=1) if moment > today else moment)
    return _milliseconds(datetime.fromisoformat(text.upper()))  # with a Z in capitals alone


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


class SearchWords(NamedTuple):
    """A line of search words, taken apart. Times are epoch milliseconds."""

    text: str  # the words themselves
    names: tuple[str, ...]  # of those who said it
    to_me: bool  # only what was said to the user
    since: int | None
    before: int | None


def parse_search(line: str, now: int) -> SearchWords:
    """Take `from:NICK`, `to:me`, `since:TIME` and `before:TIME` out of a line of search words. Raises ValueError.
    `until:TIME` is as `before:TIME`, and includes that moment, as the option --until does."""
    words, names, times = [], list[str](), dict[str, int]()
    asked = line.split(" ")
    for word in (each for each in asked if each != _TO_ME):
        name, colon, value = word.partition(":")
        if not colon or name not in _NAMES:
            words.append(word)
        elif not value.removeprefix("@"):
            needs = "a nick, or the beginning of an id" if name == "from" else "a time, such as 10:02 or 2d"
            raise ValueError(f"{name}: needs {needs}.")
        elif name == "from":
            names.append(value.removeprefix("@"))
        else:
            try:
                times[name] = parse_moment(value, now)
            except ValueError:
                raise ValueError(f"{value} is no time, such as {_SEARCHED}.") from None
    ends = [times[name] + (name == "until") for name in ("before", "until") if name in times]
    return SearchWords(
        " ".join(words).lstrip(), tuple(names), _TO_ME in asked, times.get("since"), min(ends, default=None)
    )
