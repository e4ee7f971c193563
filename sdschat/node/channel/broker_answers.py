"""The broker's answers to what we publish, as events."""

from __future__ import annotations

from collections.abc import Hashable

from sdschat.node.events import HandedOver, NotPublished, SendingResumed
from sdschat.transport.base import Failure


class BrokerAnswers:
    """Tell which packets the broker took, and that it takes packets again that it refused, as an access list makes it.

    The tag of a packet of the channel is its message id, or empty for one without; that of other packets is None.
    """

    __slots__ = ("_refused",)

    def __init__(self) -> None:
        self._refused: set[bool] = set()  # True: packets of the channel; False: other ones

    def taken(self, tag: Hashable) -> HandedOver | SendingResumed | None:
        """Note that the broker took a packet, and return what to tell."""
        again = bool(self._refused)
        self._refused.discard(isinstance(tag, str))
        if isinstance(tag, str) and tag:
            return HandedOver(tag)
        return SendingResumed() if again and not self._refused else None

    def failed(self, tag: Hashable, failure: Failure, detail: str) -> NotPublished:
        if failure is Failure.REFUSED:
            self._refused.add(isinstance(tag, str))
        return NotPublished(tag if isinstance(tag, str) else "", str(failure), detail)
