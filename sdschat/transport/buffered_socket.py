"""The socket that the MQTT client reads: buffered, bounded, and with the reason for its failure."""

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
    """Somebody sent a packet above our size limit."""


class BufferedSocket:
    """A wrapper of a connected, non-blocking socket.

    paho reads a packet in three or four small calls. Serving them from a buffer saves most of the system calls. It also
    shows when nothing is left: TLS may hold decrypted bytes that a selector does not know of. paho asks for the whole
    rest of a packet at once, so a limit on the size of its request limits the memory that others can make us use.
    """

    __slots__ = ("_at", "_buffer", "_limit", "_socket", "dry", "ended", "error", "heard")

    def __init__(self, socket: Socket, limit: int) -> None:
        self._socket = socket
        self._limit = limit
        self._buffer = b""
        self._at = 0
        self.dry = False  # the last read found nothing more
        self.ended = False  # the other side closed
        self.heard = False  # the other side has sent something
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
            # Websocket frames in TLS: a frame may be incomplete while TLS already holds its next part.
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
        """Return the number of bytes that can be read although no selector says so; paho calls this method."""
        return len(self._buffer) - self._at or int(self._pending())

    def close(self) -> None:
        self._socket.close()

    def fileno(self) -> int:
        return self._socket.fileno()

    def setblocking(self, flag: bool) -> None:
        self._socket.setblocking(flag)
