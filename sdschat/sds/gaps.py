"""Dependencies that were waited for in vain. Whoever names one next is not held up by it either.

Only what was waited for in full comes here: what one message goes without for its own reasons (it is older than our
joining, or its sender names too much) must not make the messages of others go without it.
"""

from __future__ import annotations

from sdschat.sds.limits import GAPS_PER_CHANNEL, GAPS_PER_SENDER
from sdschat.sds.values import GapRow


class Gaps(dict[str, GapRow]):
    """Rows by the id that is lost. Who has too many named loses his own oldest."""

    def __init__(self, rows: tuple[GapRow, ...] = ()) -> None:
        super().__init__()
        # Ids whose row on disk is out of date.
        self.changed: dict[str, None] = {}
        # By participant: ids of the rows that are charged to it, the oldest first. At most `GAPS_PER_SENDER` each and
        # `GAPS_PER_CHANNEL` in all; no participant has an empty share.
        self._shares: dict[str, dict[str, None]] = {}
        for row in rows:
            self._put(row)

    def note(self, row: GapRow) -> None:
        if row.message_id in self:
            return
        share = self._shares.get(row.charged_to, {})
        if len(share) >= GAPS_PER_SENDER:
            self.close(next(iter(share)))
        elif len(self) >= GAPS_PER_CHANNEL:
            heaviest = max(self._shares, key=lambda sender: (len(self._shares[sender]), sender))
            self.close(next(iter(self._shares[heaviest])))
        self._put(row)
        self.changed[row.message_id] = None

    def count_charged_to(self, sender_id: str) -> int:
        return len(self._shares.get(sender_id, ()))

    def close(self, message_id: str) -> bool:
        """It came, or is forgotten; false where it was no gap."""
        row = self.pop(message_id, None)
        if row is None:
            return False
        share = self._shares[row.charged_to]
        del share[message_id]
        if not share:
            del self._shares[row.charged_to]
        self.changed[message_id] = None
        return True

    def _put(self, row: GapRow) -> None:
        self[row.message_id] = row
        self._shares.setdefault(row.charged_to, {})[row.message_id] = None
