"""Text for people from a report in JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click

from sdschat.cli.output import moment, safe

_MOMENTS: Final = frozenset(
    {
        "newest",
        "lamport",
        "joined_after",
        "complete_since",
        "next_sync",
        "next_send",
        "received_at",
        "until",
        "since",
        "given_up_at",
        "request_due",
        "due",
        "at",
        "heard_at",
        "last_lamport",
        "first_lamport",
        "not_before",
        "lamport_timestamp",
        "sent_time",
    }
)


def print_report(report: dict[str, Any], most: int) -> None:
    for line in _lines(report, most):
        click.echo(line)


def _lines(report: dict[str, Any], most: int, indent: str = "") -> Iterator[str]:
    for name, value in report.items():
        label = f"{indent}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            yield f"{label}:" if value else f"{label}: none"
            yield from _lines(value, most, indent + "  ")
        elif isinstance(value, list | tuple):
            yield f"{label}: {len(value) or 'none'}"
            for entry in value[:most]:
                yield f"{indent}  - {_entry(entry)}"
            if len(value) > most:
                yield f"{indent}  … {len(value) - most} more; --json has all of them"
        else:
            yield f"{label}: {_value(name, value)}"


def _entry(entry: Any) -> str:
    if not isinstance(entry, dict):
        return _value("", entry)
    return ", ".join(
        f"{name.replace('_', ' ')} {_value(name, value)}" for name, value in entry.items() if value not in (None, [])
    )


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, int) and name in _MOMENTS:
        return moment(value) if value else "-"
    if isinstance(value, list | tuple):
        return " ".join(_value("", each) for each in value) or "-"
    if isinstance(value, dict):
        return f"({_entry(value)})"
    return safe(str(value))
