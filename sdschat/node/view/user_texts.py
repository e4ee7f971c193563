"""State of the user that outlives a run, saved in the database of the profile."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from sdschat.store.errors import DiskFull, StoreError, StoreUnavailable
from sdschat.store.store import Store
from sdschat.store.transaction import Transaction

UNSAVED: Final = (DiskFull, StoreUnavailable)  # nothing was saved, and it can be tried again later


def saved_text(value: Callable[[str], bytes | None], name: str) -> str:
    """Return a text of the user; empty if there is none. `value` reads what is saved by a name."""
    return (value(f"view.{name}") or b"").decode(errors="replace")


class UserTexts:
    """Texts by name. Saving returns False if it cannot be saved now; the node reports the reason itself."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def value(self, name: str) -> str:
        """Return the text that `set_value` saved; empty if there is none."""
        return saved_text(self.store.value, name)

    def set_value(self, name: str, text: str) -> bool:
        return self.save(lambda transaction: transaction.set_value(f"view.{name}", text.encode(errors="replace")))

    def save(self, change: Callable[[Transaction], None]) -> bool:
        try:
            with self.store.transaction() as transaction:
                change(transaction)
        except StoreError:
            return False
        return True


def last_broker(channel: str) -> str:
    """Return the name of the text that says over which broker a channel was opened the last time."""
    return f"broker {channel}"


def silent_nicks(value: Callable[[str], bytes | None], channel: str) -> dict[str, str]:
    """Return the nicks of those who were here in an earlier run and said nothing, by sender id. `value` reads what is
    saved by a name."""
    try:
        found = json.loads(saved_text(value, f"nicks.{channel}") or "{}")
        return {str(sender_id): str(nick) for sender_id, nick in found.items()}
    except (ValueError, AttributeError):
        return {}
