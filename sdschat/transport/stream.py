"""The socket that the MQTT client reads: buffered, bounded, and aware of why it failed."""

from __future__ import annotations

import ssl
from typing import Final, Protocol

_CHUNK: Final = 65536


class Socket(Protocol):
    """A plain socket, a TLS one, or paho's websocket around either."""

    def recv(self, size: int, /) -> bytes: ...

    def send(self, data: bytes, /) -> int: ...

    def close(self) -> None: ...

    def fileno(self) -> int: ...

    def setblocking(self, flag: bool, /) -> None: ...


class OversizedError(ConnectionError):
    """Somebody sent a packet larger than we take."""


class Stream:
    """Wraps a connected, non-blocking socket.

    paho reads a packet in three or four small calls. Serving them from a buffer saves most of the system calls, and
    shows when there is nothing left: TLS may hold decrypted bytes that no selector knows of. paho asks for the whole
    rest of a packet at once, so the size of its request is the place to bound what others can make us hold.
    """

    __slots__ = ("_at", "_buffer", "_limit", "_socket", "dry", "ended", "error", "heard")

    def __init__(self, socket: Socket, limit: int) -> None:
        self._socket = socket
        self._limit = limit
        self._buffer = b""
        self._at = 0
        self.dry = False  # the last read found nothing more
        self.ended = False  # the other side closed
        self.heard = False  # the other side ever said anything
        self.error: OSError | None = None  # why reading or writing failed

    def recv(self, size: int) -> bytes:
        if size > self._limit:
            self.error = OversizedError(f"a packet of {size} bytes came in, and {self._limit} are allowed")
            raise self.error
        if self._at == len(self._buffer):
            self._fill()
        data = self._buffer[self._at : self._at + size]
        self._at += len(data)
        return data

    def _fill(self) -> None:
        self.dry = False
        try:
            self._buffer = self._socket.recv(_CHUNK)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            # Websocket frames in TLS: a frame may be incomplete while TLS still holds the next part of it.
            self.dry = not self._pending()
            raise
        except OSError as error:
            self.error = error
            raise
        self._at = 0
        self.ended = not self._buffer
        self.heard = self.heard or not self.ended

    def send(self, data: bytes) -> int:
        try:
            return self._socket.send(data)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except OSError as error:
            self.error = error
            raise

    def _pending(self) -> bool:
        pending = getattr(self._socket, "pending", None)
        return pending is not None and pending() > 0

    def pending(self) -> int:
        """Bytes that can be read although no selector says so; part of the interface that paho knows."""
        return len(self._buffer) - self._at or int(self._pending())

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def setblocking(self, flag: bool) -> None:
        self._socket.setblocking(flag)
