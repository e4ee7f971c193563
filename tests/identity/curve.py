"""The curve of Ed25519 in plain integers, slow and short: it checks the test vectors independently."""

from __future__ import annotations

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]
IDENTITY: Point = (0, 1)


def decode(encoding: bytes) -> Point | None:
    """Return the point of an encoding, read leniently: y is taken modulo p. None if no x fits."""
    value = int.from_bytes(encoding, "little")
    y, sign = value % 2**255 % P, value >> 255
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != square:
        return None
    return (P - x if x % 2 != sign else x) % P, y


def add(a: Point, b: Point) -> Point:
    product = D * a[0] * b[0] * a[1] * b[1] % P
    x = (a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P)
    y = (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P)
    return x % P, y % P


def order_divides_eight(encoding: bytes) -> bool:
    point = decode(encoding)
    if point is None:
        return False
    for _ in range(3):
        point = add(point, point)
    return point == IDENTITY
