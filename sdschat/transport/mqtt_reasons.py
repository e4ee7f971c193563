"""Reasons for a failed or lost connection, in words for the user."""

from __future__ import annotations

import socket
import ssl
from typing import Final

from sdschat.transport.address import Address
from sdschat.transport.base import Why
from sdschat.transport.buffered_socket import BufferedSocket, OversizedError
from sdschat.transport.credentials import PASSWORD_PLACES
from sdschat.transport.mqtt_options import explain, reason
from sdschat.transport.session import LinkOptions

# Reason codes of MQTT 5. The return codes of older versions are translated to these.
_UNSUPPORTED_VERSION: Final = 0x84
_NOT_AUTHORISED: Final = (0x86, 0x87, 0x8A, 0x8C)
_TAKEN_OVER: Final = 0x8E
_NO_HANDSHAKE: Final = (
    "{} hung up during the TLS handshake. Does it speak TLS on this port? Without it: mqtt:// or ws://."
)
_OLDEST: Final = 3  # MQTT 3.1.1, the last version that is tried


class WebsocketRefusedError(ConnectionError):
    """The web server did not agree to a websocket."""


def explain_dial(problem: Exception | None, address: Address) -> tuple[Why, str]:
    """Explain a failure to open the socket."""
    place = f"{address.host}:{address.port}"
    match problem:
        case ssl.SSLEOFError():
            return Why.TLS_REFUSED, _NO_HANDSHAKE.format(place)
        case ssl.SSLError():
            return Why.TLS_REFUSED, explain(problem, place)
        case socket.gaierror():
            return Why.UNREACHABLE, f"There is no host named {address.host}. Check the address, and the network."
        case ConnectionRefusedError():
            return Why.UNREACHABLE, f"Nothing listens at {place}. Is the broker running, and the port right?"
        case TimeoutError():
            return Why.UNREACHABLE, f"{place} does not answer. Check the address, the network and firewalls."
        case WebsocketRefusedError():
            return Why.PROTOCOL, f"{place} answers, but not as a websocket for MQTT. Check the port and {address.path}."
        case ConnectionResetError() | BrokenPipeError() if address.encrypted:
            return Why.TLS_REFUSED, _NO_HANDSHAKE.format(place)
    why = "" if problem is None else f": {reason(problem)}"
    return Why.UNREACHABLE, f"{place} cannot be reached{why}. Check the address and the network."


def explain_loss(
    stream: BufferedSocket | None, opened: bool, options: LinkOptions, *, garbled: bool = False
) -> tuple[Why, str]:
    """Explain the loss of a connected socket without an MQTT message about it. `garbled`: what came was no MQTT."""
    address = options.address
    error = stream.error if stream is not None else None
    if isinstance(error, OversizedError):
        return Why.OVERSIZED, f"Somebody sent more than we take: {error}. The connection was ended for that."
    if isinstance(error, ssl.SSLError):
        return Why.TLS_REFUSED, explain(error, address.host)
    if not opened:
        return _explain_hang_up(stream is not None and stream.heard, options)
    if garbled:
        return Why.PROTOCOL, "The broker sent what cannot be read, so the connection was ended."
    if error is None and not (stream is not None and stream.ended):
        return Why.SILENT, "The broker does not answer the keep-alive. It hangs, or the network is gone."
    return Why.CONNECTION_LOST, f"The connection to the broker was lost{f' ({error})' if error else ''}."


def _explain_hang_up(heard: bool, options: LinkOptions) -> tuple[Why, str]:
    """Explain a connection that ended before the broker accepted us.

    Some brokers, among them rumqttd and so the embedded broker, answer a wrong user or password only in this way. They
    do the same for a newer version of MQTT, so the older version has to be tried before the user is blamed.
    """
    place, scheme = f"{options.address.host}:{options.address.port}", options.address.scheme
    if heard:
        return Why.PROTOCOL, f"{place} answers, but does not speak MQTT. Check the port; one for TLS wants mqtts://."
    if options.accepted:
        return Why.PROTOCOL, (
            f"{place} hung up without an answer, though it took us before. It is likely that the broker is down or "
            "just starting, behind something that listens in its place."
        )
    if options.password is not None or options.address.user is not None:
        why = Why.NOT_AUTHORISED if options.version == _OLDEST else Why.PROTOCOL
        given = "" if options.password is not None else "; no password was given"
        tls = "" if options.address.encrypted else f", or that want TLS ({scheme}s://)"
        return why, (
            f"{place} hung up without an answer, as brokers do that refuse the user or password{tls}{given}. Check "
            f"these, and the port. {PASSWORD_PLACES}"
        )
    tls = "" if options.address.encrypted else f"or TLS (--broker {scheme}s://{place}), "
    return Why.PROTOCOL, (
        f"{place} hung up without an answer. It wants a user and password (--broker {scheme}://user@{place}), {tls}or "
        f"does not speak MQTT. Check the port. {PASSWORD_PLACES}"
    )


def explain_refusal(code: int, text: str) -> tuple[Why, str]:
    """Explain a broker's refusal of the request to connect."""
    if code == _UNSUPPORTED_VERSION:
        return Why.PROTOCOL, "The broker does not speak this version of MQTT."
    if code in _NOT_AUTHORISED:
        return Why.NOT_AUTHORISED, f"The broker refused us: {text}. Check user and password. {PASSWORD_PLACES}"
    return Why.BROKER_CLOSED, f"The broker refused the connection: {text}."


def explain_goodbye(code: int, text: str) -> tuple[Why, str]:
    """Explain a DISCONNECT packet of the broker, as in MQTT 5."""
    if code == _TAKEN_OVER:
        return Why.TAKEN_OVER, "The broker ended the connection: another client came with our client id."
    return Why.BROKER_CLOSED, f"The broker ended the connection: {text}."
