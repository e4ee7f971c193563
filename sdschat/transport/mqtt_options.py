"""All settings of an MQTT transport; TLS with verification always on, and its errors in words for the user."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from sdschat.transport.address import LOCAL, Address, AddressError, Secret
from sdschat.transport.base import DEFAULT_PREFIX


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """Files for TLS. `ca_file` replaces the system's authorities; the other two are our own certificate and its key."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None


def client_context(options: TlsOptions) -> ssl.SSLContext:
    """Return a context that verifies the broker's certificate and host name. No option turns that off."""
    if options.key_file is not None and options.cert_file is None:
        raise AddressError("There is a key file for TLS but no certificate. Give the certificate's file as well.")
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
    except (OSError, ValueError) as error:
        raise AddressError(
            f"The certificate authority file {options.ca_file} cannot be used: {reason(error)}. "
            "It must hold one or more certificates in PEM form."
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if options.ca_file is not None:
        # Python 3.13 refuses certificates without the key identifiers of RFC 5280, which `openssl x509 -req` leaves
        # out. A user who names an authority has made such ones, and older versions of Python take them.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if options.cert_file is not None:
        try:
            context.load_cert_chain(options.cert_file, options.key_file, password=no_passphrase)
        except (OSError, ValueError) as error:
            if options.key_file is None and isinstance(error, ssl.SSLError):
                raise AddressError(
                    f"Our certificate {options.cert_file} cannot be used: its key is not in the same file, or it is "
                    "not in PEM form. Give the file of the key with --key-file."
                ) from error
            raise AddressError(
                f"Our certificate {options.cert_file} cannot be used with its key: {reason(error)}. "
                "Both must be in PEM form, belong together, and the key must have no passphrase."
            ) from error
    return context


def explain(error: ssl.SSLError | OSError, host: str) -> str:
    """Explain a failed handshake, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.rstrip(".")  # some of them end with a point
        problem = f"The certificate of {host} was refused: {why}. Nothing was sent."
        return f"{problem} {_advice(error.verify_code)}"
    text = reason(error)
    if "CERTIFICATE_REQUIRED" in text or "HANDSHAKE_FAILURE" in text:
        return f"{host} wants a certificate from us. Give one with --cert-file and --key-file."
    if "UNKNOWN_CA" in text or "BAD_CERTIFICATE" in text or "CERTIFICATE_UNKNOWN" in text:
        return f"{host} refused our certificate ({text}). Give one that its authority has signed."
    if "WRONG_VERSION_NUMBER" in text or "RECORD_LAYER_FAILURE" in text or "HTTP_REQUEST" in text:
        return f"{host} does not speak TLS on this port. Use mqtt:// or ws://, or the port for TLS (usually 8883)."
    return f"TLS with {host} failed: {text}. Check the address and the broker's TLS settings."


def _advice(verify_code: int) -> str:
    # The numbers are OpenSSL's X509_V_ERR_*. Python has no names for them.
    match verify_code:
        case 62 | 64:
            return "It is made out for another host: use the name it has, or check that this is the right broker."
        case 9 | 10:
            return "It is not valid today: check this machine's clock, else the broker needs a new one."
        case 18 | 19 | 20 | 21:
            return "No authority trusted here signed it: name the certificate of the one that did with --ca-file."
    return "Check that this is the right broker."


def no_passphrase() -> NoReturn:
    """Refuse a key that has a passphrase, as the `password` of `load_cert_chain`."""
    # Without this OpenSSL would ask on the terminal, in the middle of the chat.
    raise ValueError("the key has a passphrase")


def reason(error: Exception) -> str:
    """Return the part of an error's text that a user can understand."""
    if isinstance(error, ssl.SSLError):
        return error.reason or str(error)
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class MqttOptions:
    """Settings of an MQTT transport; times in seconds. With the defaults a broker that hangs is noticed within 41 s."""

    address: Address = LOCAL
    password: Secret | None = None
    tls: TlsOptions = field(default_factory=TlsOptions)
    allow_clear_password: bool = False
    prefix: str = DEFAULT_PREFIX
    # A connection has one last will, so one presence topic: a node in several channels has one transport for each.
    presence_topic: str | None = None
    before_connect: Callable[[], Awaitable[None]] | None = None  # for the embedded broker: ensure that one runs
    # A client id, and for how many seconds the broker keeps its session while we are away. With a session we must
    # acknowledge what we receive. Empty: a new id for each transport, and no session.
    session: str = ""
    session_kept: int = 0

    keepalive: int = 20
    probe_every: float = 15.0
    probe_patience: float = 15.0
    connect_timeout: float = 10.0
    tick: float = 1.0
    backoff_first: float = 1.0
    backoff_longest: float = 60.0
    stable_after: float = 10.0  # a connection that lasted this long resets the back-off

    max_payload: int = 256 * KIB  # of a packet that we send
    max_incoming: int = 1 * MIB  # of a packet that we accept
    window: int = 200  # unacknowledged packets at once, if the broker allows it
    queue_packets: int = 10_000
    queue_bytes: int = 32 * MIB
