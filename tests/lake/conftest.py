"""The profiles that audits are tested with."""

from __future__ import annotations

from tests.audit.conftest import field, untouched

__all__ = ["field", "untouched"]
