"""Ed25519 signatures and X25519 keys, after RFC 8032 and RFC 7748. Far too slow, and not safe, for real use."""

from __future__ import annotations

from hashlib import sha512

from tests.identity.curve import IDENTITY, L, P, Point, add

_BASE_Y = 4 * pow(5, -1, P) % P
_BASE: Point = (15112221349535400772501151409588531511454012693041857206046113283949847762202, _BASE_Y)


def public_key(seed: bytes) -> bytes:
    return _encoded(_times(_BASE, _scalar(seed)))


def sign(seed: bytes, message: bytes) -> bytes:
    key = public_key(seed)
    nonce = _number(sha512(sha512(seed).digest()[32:] + message).digest()) % L
    point = _encoded(_times(_BASE, nonce))
    challenge = _number(sha512(point + key + message).digest()) % L
    return point + ((nonce + challenge * _scalar(seed)) % L).to_bytes(32, "little")


def curve_secret(seed: bytes) -> bytes:
    """The X25519 secret of the same seed."""
    return _scalar(seed).to_bytes(32, "little")


def curve_public(key: bytes) -> bytes:
    """The X25519 public key of an Ed25519 one: u = (1 + y) / (1 - y)."""
    y = _number(key) % 2**255
    return ((1 + y) * pow(1 - y, -1, P) % P).to_bytes(32, "little")


def x25519(secret: bytes, point: bytes) -> bytes:
    """The Montgomery ladder."""
    scalar, base = _clamped(secret), _number(point) % 2**255
    x2, z2, x3, z3 = 1, 0, base, 1
    for at in reversed(range(255)):
        bit = scalar >> at & 1
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        x3, z3 = (d * a + c * b) ** 2 % P, base * (d * a - c * b) ** 2 % P
        e = a * a - b * b
        x2, z2 = a * a * b * b % P, e * (a * a + 121665 * e) % P
        if bit:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, -1, P) % P).to_bytes(32, "little")


def _scalar(seed: bytes) -> int:
    return _clamped(sha512(seed).digest()[:32])


def _clamped(secret: bytes) -> int:
    return _number(secret) % 2**254 // 8 * 8 + 2**254


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _encoded(point: Point) -> bytes:
    x, y = point
    return (y + (x % 2 << 255)).to_bytes(32, "little")


def _times(point: Point, scalar: int) -> Point:
    found = IDENTITY
    while scalar:
        if scalar % 2:
            found = add(found, point)
        point, scalar = add(point, point), scalar // 2
    return found
