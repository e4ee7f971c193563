"""The folders of the archive in a lake."""

from __future__ import annotations

from typing import Final

BY_ID: Final = "archive/by_id"
BY_PLACE: Final = "archive/by_place"
