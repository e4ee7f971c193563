"""Background tasks, for those that must not know the transport."""

from sdschat.transport.tasks import first, start

__all__ = ["first", "start"]
