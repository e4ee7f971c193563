"""`sdschat inspect`: show buffers, clock, filter and pending repairs of a channel, or one message in full."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from sdschat.cli.buffers import buffers, not_in_log, outgoing
from sdschat.cli.errors import WRONG_USE, CommandProblem, channel_name
from sdschat.cli.histories import codec_of, open_reader, own_id, require_channel
from sdschat.cli.json_events import manner
from sdschat.cli.options import Chosen, local_options
from sdschat.cli.output import moment, safe
from sdschat.cli.timber import as_object, privacy_of, removal_words, status_of
from sdschat.identity.content import envelope_of
from sdschat.identity.signing import nicks_by_sender
from sdschat.node.channel.copies import difference_to_copy
from sdschat.node.members.record import is_members_channel
from sdschat.node.members.saved import saved_posts
from sdschat.node.private.record import private_state
from sdschat.node.view.packet_report import packet_report
from sdschat.node.view.user_texts import silent_nicks
from sdschat.sds.values import Entry
from sdschat.store.display_rows import Ancestor, DisplayMessage
from sdschat.store.reader import Reader

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
        "sent_at",
    }
)


# Names of JSON fields that need more words where people read them.
_LABELS: Final = {
    "lamport": "Lamport time (orders the log)",
    "lamport_timestamp": "Lamport time (orders the log)",
    "last_lamport": "its last Lamport time",
    "data_set": "data set (the id of this members' channel)",
    "unsettled": "of yours, not settled yet",
    "operations_since": "operations since the checkpoint",
    "seq": "operations written",
    "missed": "operations not answered yet",
    "limit": "silent at",
    "clock": "is known to have of each slot",
    "layout": "filter format",
    "via": "came by",
    "how": "evidence",
    "floor": "complete since",
    "error_rate": "wrong by chance",
    "action": "an action (/me)",
    "operation": "on the members of this private channel",
    "reply_to": "answers",
}


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))


# Values as people read them; JSON keeps the names.
_WORDS: Final = {
    ("verdict", "known"): "signed, by a key met before",
    ("verdict", "new"): "signed, by a new key, not met before",
    ("verdict", "unsigned"): "unsigned: nothing vouches for its sender",
    ("verdict", "bad_signature"): "bad signature: its author did not sign this",
    ("verdict", "not_member"): "not shown: its author was no member of this private channel",
    ("verdict", "mismatched"): "signed by another than it says, or under another id",
    ("how", "mention"): "named it",
    ("how", "filter"): "its filter has it",
    ("how", "range"): "its log is the same",
    ("state", "possibly_acked"): "perhaps acked",
    ("via", "live"): "as it was sent",
}
_OF_OWN: Final = {"via": "you wrote it here", "verdict": "signed, by your key"}
_AWAITED: Final = {"message_id", "status"}  # the fields of a dependency that a message waits for
_RAREST: Final = 10**15  # a chance of one in more is no chance


class _Text:
    """A report as lines. `nicks`: by sender id, which stands with its nick."""

    def __init__(self, most: int, nicks: Mapping[str, str]) -> None:
        self._most = most
        self._nicks = nicks

    def lines(self, report: dict[str, Any], indent: str = "") -> Iterator[str]:
        for name, value in report.items():
            label = f"{indent}{_label(name)}"
            if isinstance(value, dict):
                yield f"{label}:" if value else f"{label}: none"
                yield from self.lines(value, indent + "  ")
            elif isinstance(value, list | tuple):
                yield f"{label}: {len(value) or 'none'}"
                for entry in value[: self._most]:
                    yield f"{indent}  - {self._entry(entry)}"
                if len(value) > self._most:
                    yield f"{indent}  … {len(value) - self._most} more; --json has all of them"
            else:
                yield f"{label}: {self._of_own(report, name) or self._value(name, value)}"

    def _entry(self, entry: Any) -> str:
        if not isinstance(entry, dict) or entry.keys() == _AWAITED:
            return self._value("", entry)
        return ", ".join(
            f"{_label(name).partition(' (')[0]} {self._of_own(entry, name) or self._value(name, value)}"
            for name, value in entry.items()
            if value not in (None, []) and not (name == "error_rate" and not value)
        )

    def _of_own(self, message: dict[str, Any], name: str) -> str:
        """Return the words for a value of an own message, empty if they are those for any message."""
        return _OF_OWN.get(name, "") if message.get("own") is True else ""

    def _value(self, name: str, value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if value is None:
            return "-"
        if isinstance(value, int) and name in _MOMENTS:
            return moment(value) if value else "-"
        if name == "error_rate":
            return _chance(value)
        if name == "bytes" and isinstance(value, int):
            return f"{value:,}"
        if isinstance(value, list | tuple):
            return " ".join(self._value("", each) for each in value) or "-"
        if isinstance(value, dict):
            if value.keys() == _AWAITED:
                return safe(f"{value['message_id']} ({value['status']})")
            return f"({self._entry(value)})"
        text = _WORDS.get((name, value)) or safe(str(value)) or "-"
        if name == "bloom_filter":
            text = text.replace("% full since ", "% full, complete since ")
        nick = self._nicks.get(text) if name == "sender_id" else None
        return f"{text} ({safe(nick)})" if nick else text


def _chance(share: float) -> str:
    """Return a chance as people read it: 1 in 18,000,000."""
    if not share:
        return "never"
    if share * _RAREST < 1:
        return f"less than 1 in {_RAREST:,}"
    return f"1 in {int(float(f'{1 / share:.2g}')):,}"


def _nicks(reader: Reader, channel: str) -> dict[str, str]:
    return silent_nicks(reader.value, channel) | nicks_by_sender(reader.keys())


_ID_ALONE: Final = "in the log, by its id alone"
_COUNTED: Final = 1000  # ids that begin alike, and are counted
_NAMED: Final = 3  # of them
_SHOWN = 20  # entries of a buffer shown as text; JSON has all of them


@click.command("inspect")
@click.argument("channel")
@click.argument("message", required=False)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object, with everything.")
@local_options
def command(chosen: Chosen, channel: str, message: str | None, as_json: bool) -> None:
    """Show the state of a channel, or one message with its ancestors.

    \b
    Examples:
      sdschat inspect lobby --name ann
      sdschat inspect lobby 6db70564 --name ann
      sdschat inspect lobby --json | jq .missing

    MESSAGE is an id, or the beginning of one. Times are epoch milliseconds in JSON.
    """
    name = channel_name(channel)
    with open_reader(chosen) as reader:
        name = require_channel(reader, chosen, name)
        if is_members_channel(reader, name):
            report = _members(chosen, reader, name, message)
        elif message is None:
            report = _channel(chosen, reader, name)
        else:
            report = _message(reader, chosen, name, message)
        nicks = {} if as_json else _nicks(reader, name)
        removal = removal_words(private_state(reader, name), own_id(chosen))
    if as_json:
        click.echo(json.dumps(report, separators=(",", ":")))
    else:
        if removal:
            click.echo(removal)
        for line in _Text(_SHOWN, nicks).lines(report):
            click.echo(line)


def _members(chosen: Chosen, reader: Reader, name: str, message: str | None) -> dict[str, Any]:
    """Return the state of a members' channel, or one of its posts."""
    if message is None:
        return as_object(name, status_of(chosen, reader, name)) | privacy_of(chosen, reader, name)
    posts = saved_posts(reader, name, own_id(chosen), chosen.nick)
    near = [post for post in posts if post.message_id.startswith(message)]
    if len(near) != 1:
        problem = "There is no post" if not near else f"There are {len(near)} posts"
        do = "Give more of it." if near else f"sdschat log {name} --json has their ids."
        raise CommandProblem(f"{problem} in {name} whose id begins with {safe(message)}. {do}", WRONG_USE)
    return {"channel": name, **near[0]._asdict()}


def _channel(chosen: Chosen, reader: Reader, name: str) -> dict[str, Any]:
    info = next(found for found in reader.channels() if found.channel == name)
    snapshot, losses = reader.snapshot(name)
    report: dict[str, Any] = {
        "channel": name,
        "messages": info.messages,
        "newest": info.newest,
        "fingerprint": info.fingerprint,
        "unread": info.unread,
        "rejected": reader.rejections(name).get(name, {}),
    }
    report |= privacy_of(chosen, reader, name)
    if snapshot is not None:
        report |= buffers(snapshot)
    if losses:
        report["damaged"] = [loss._asdict() for loss in losses]
    return report


def _id_alone(found: Entry) -> dict[str, Any]:
    return {
        "status": _ID_ALONE,
        "message_id": found.message_id,
        "sender_id": found.sender_id,
        "lamport": found.lamport,
    }


def _message(reader: Reader, chosen: Chosen, name: str, prefix: str) -> dict[str, Any]:
    ids = reader.find_ids(name, prefix, _COUNTED)
    snapshot = None if ids else reader.snapshot(name)[0]
    elsewhere = {} if snapshot is None else not_in_log(snapshot, prefix)
    if not ids:
        elsewhere |= {one.message_id: (_id_alone(one), b"") for one in reader.without_packet(name, prefix, _COUNTED)}
    if not ids and not elsewhere:
        raise CommandProblem(
            f"No message of {name} has an id that begins with {prefix!r}, neither in the log nor in the buffers. "
            f"`sdschat log {name} --json` lists ids.",
            WRONG_USE,
        )
    ids = ids or sorted(elsewhere)
    if len(ids) > 1 and ids[0] != prefix:
        many = f"{len(ids):,}{' or more' if len(ids) >= _COUNTED else ''}"
        named = f"{', '.join(ids[:_NAMED])}{' and others' if len(ids) > _NAMED else ''}"
        raise CommandProblem(f"{many} ids begin with {prefix!r}: {named}. Give more of it.", WRONG_USE)
    if elsewhere:
        report, raw = elsewhere[ids[0]]
        return {"channel": name, **report} | (_packet(chosen, raw) if raw else {})
    detail = reader.message(name, ids[0])
    assert detail is not None
    found = detail.message
    report = _stored(found) | {"channel": name, "dependencies": list(found.dependencies)}
    report |= _manner(reader, chosen, found)
    if found.raw is None and not (found.own or found.damaged):
        report["status"] = _ID_ALONE
    if found.damaged:
        report["damaged"] = found.damaged
    if other := difference_to_copy(reader, name, found.message_id):
        report["other_copy"] = other
    if detail.outgoing is not None:
        report["acknowledgement"] = outgoing(detail.outgoing)
    report["ancestors"] = [_ancestor(each) for each in detail.ancestors]
    report["ancestors_truncated"] = detail.truncated
    if found.raw is not None:
        report |= _packet(chosen, found.raw)
    return report


def _packet(chosen: Chosen, raw: bytes) -> dict[str, Any]:
    return {"packet": packet_report(raw, codec_of(chosen)) | {"hex": raw.hex()}}


def _manner(reader: Reader, chosen: Chosen, found: DisplayMessage) -> dict[str, Any]:
    """Return whether a message is an action or an operation, and what it answers, as far as that is here."""
    envelope = envelope_of(codec_of(chosen), found.raw)
    if envelope is None:
        return {}
    report = manner(envelope.kind, envelope.reply_to)
    original = reader.message(found.channel, envelope.reply_to, ancestors=0) if envelope.reply_to else None
    if original is not None:
        report["answered"] = {"nick": original.message.nick or "", "text": original.message.text}
    return report


def _stored(found: DisplayMessage) -> dict[str, Any]:
    return {
        "message_id": found.message_id,
        "sender_id": found.sender_id,
        "nick": found.nick or "",
        "lamport": found.lamport,
        "text": found.text,
        "verdict": found.verdict,
        "own": found.own,
        "via": found.via,
        "received_at": found.received_at,
    }


def _ancestor(each: Ancestor) -> dict[str, Any]:
    known = {} if each.message is None else _stored(each.message)
    status = _ID_ALONE if each.status == "id_alone" else each.status
    return {"message_id": each.message_id, "depth": each.depth, "status": status} | known
