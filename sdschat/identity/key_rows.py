"""Rows of the keys and nicks that a profile has seen, as they are saved."""

from __future__ import annotations

from typing import NamedTuple


class KeyRow(NamedTuple):
    """A key that signed something, with its last nick. Its storage key is the public key."""

    public_key: bytes
    nick: str
    first_seen: int  # epoch milliseconds


class NickRow(NamedTuple):
    """A nick and the first key that used it: the nick belongs to that key. Its storage key is the skeleton."""

    skeleton: str
    nick: str
    public_key: bytes
    since: int  # epoch milliseconds


class StandingRow(NamedTuple):
    """A participant's standing. Its storage key is the sender id."""

    sender_id: str
    standing: int
    since: int  # epoch milliseconds


class KeyForgotten(NamedTuple):
    """A stranger's key was forgotten, and the nicks that it held are free."""

    public_key: bytes


class StandingForgotten(NamedTuple):
    """The standing that a participant had since then was forgotten."""

    sender_id: str
    since: int  # epoch milliseconds


BookRow = KeyRow | NickRow | StandingRow | KeyForgotten | StandingForgotten
