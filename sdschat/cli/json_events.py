"""Events of the node as JSON lines: one object a line, with the names that `pipe` promises; and the input lines of
`pipe`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from sdschat.identity.content import ContentKind, Verdict
from sdschat.identity.key_book import KeyMet, NickChanged, NickClaimed
from sdschat.node import events
from sdschat.node.events import BodiesFetched, CatchingUp, DirectRefused, DirectSaid, NodeEvent, Said
from sdschat.node.store_client.events import StoreAnswered, StoreAsked, StoreLeft, StoreSilent
from sdschat.sds import events as ev
from sdschat.sds.values import AckState

_NAMES: Final[Mapping[type, str]] = {
    events.Joined: "joined",
    events.MessageDelivered: "delivered",
    events.EphemeralSaid: "ephemeral",
    events.PresenceChanged: "presence",
    events.ClockDiffers: "clock_differs",
    events.ConnectionChanged: "connection",
    events.HandedOver: "published",
    events.NotPublished: "not_published",
    events.SendingResumed: "sending_resumed",
    events.IdentityUsedElsewhere: "identity_used_elsewhere",
    events.UnsignedInOurName: "unsigned_in_our_name",
    events.DeviceRenewed: "device_renewed",
    events.AuthorGapFound: "author_gap",
    events.AuthorGapClosed: "author_gap_closed",
    events.SaidTwoThings: "said_two_things",
    events.OverLimit: "over_limit",
    events.OwnOverLimit: "own_over_limit",
    events.StrangersChanged: "strangers",
    events.SavingFailed: "saving_failed",
    events.SavingResumed: "saving_resumed",
    events.PacketRestored: "packet_restored",
    events.TroubleMet: "trouble",
    events.HostingChanged: "hosting",
    StoreAsked: "store_asked",
    StoreAnswered: "store_answered",
    StoreSilent: "store_silent",
    StoreLeft: "store_left",
    CatchingUp: "catching_up",
    BodiesFetched: "bodies_fetched",
    DirectSaid: "direct",
    DirectRefused: "direct_refused",
    events.EpochChanged: "epoch_changed",
    events.MembersChanged: "members_changed",
    events.MessageWithheld: "withheld",
    events.NotAMember: "not_a_member",
    events.OperationsReworded: "operations_reworded",
    events.PostSaid: "delivered",
    events.DeliveryChanged: "state",
    events.OperationPlaced: "operation",
    events.PostEdited: "edited",
    events.PostDeleted: "deleted",
    events.PostRewritten: "rewritten",
    events.CheckpointPassed: "checkpoint",
    events.MemberStatusChanged: "member",
    events.BallotChanged: "ballot",
    events.StateTaken: "state_taken",
    events.Knocked: "knock",
    events.DataSetFound: "data_set",
    events.KindRefused: "kind_refused",
    events.TimberRejected: "rejected",
    events.ForkFound: "fork",
    KeyMet: "key_met",
    NickChanged: "nick_changed",
    NickClaimed: "nick_claimed",
    ev.StateChanged: "state",
    ev.MessageRetired: "left_outgoing",
    ev.DependenciesMissing: "missing",
    ev.DependenciesLost: "lost",
    ev.GapClosed: "gap_closed",
    ev.MessageDeferred: "parked",
    ev.DuplicateReceived: "duplicate",
    ev.SyncSent: "sync_sent",
    ev.SyncReceived: "sync_received",
    ev.MessageResent: "resent",
    ev.RepairWanted: "repair_wanted",
    ev.RepairRequested: "repair_requested",
    ev.RepairScheduled: "repair_scheduled",
    ev.RepairResponded: "repair_responded",
    ev.RepairCancelled: "repair_cancelled",
    ev.PushScheduled: "push_scheduled",
    ev.Pushed: "pushed",
    ev.PushCancelled: "push_cancelled",
    ev.RangeDiffered: "range_differed",
    ev.FilterIgnored: "filter_ignored",
    ev.FilterRolled: "filter_rolled",
    ev.FilterFormatChanged: "layout_changed",
    ev.ClockAhead: "clock_ahead",
    ev.Rejected: "rejected",
}
INPUT_REFUSED: Final = "input_refused"  # told by `pipe` itself
EVENT_NAMES: Final = (*dict.fromkeys(_NAMES.values()), INPUT_REFUSED)
_encode = json.JSONEncoder(separators=(",", ":")).encode


def json_line(event: NodeEvent) -> str:
    """Return one line, without its end. Other than ASCII is escaped, so that no foreign text drives a terminal."""
    return named_line(_NAMES[type(event.body)], event.channel, event.time, _fields(event.body))


def named_line(name: str, channel: str, time: int, fields: Mapping[str, Any]) -> str:
    return _encode({"event": name, "channel": channel, "time": time, **fields})


def _fields(body: events.EventBody) -> Mapping[str, Any]:
    match body:
        case events.MessageDelivered(said, late, gap, via):
            return {"message": message_object(said), "late": late, "gap": gap, "via": via}
        case events.EphemeralSaid(said):
            return {"message": message_object(said)}
        case DirectSaid(message_id, sender_id, to, nick, opened, own, gap):
            found = described(message_id, sender_id, nick, None, opened.text, b"", own=own, verdict=str(opened.verdict))
            found |= manner(opened.kind, opened.reply_to)
            return {"message": found, "to": to} | ({"gap": gap} if gap else {})
        case ev.StateChanged(message_id, state, by, resends, _, perhaps, unproven):
            witnesses = {"by": by} | ({"perhaps": perhaps} if perhaps else {})
            witnesses |= {"unproven": unproven} if unproven else {}
            return {"message_id": message_id, "state": state_name(state), **witnesses, "resends": resends}
        case events.PostSaid(post, late, via):
            return {"message": post_object(post), "late": late, "gap": (), "via": via}
        case events.DeliveryChanged(message_id, word, known, members, was):
            found = {"message_id": message_id, "state": word, "known": known, "members": members}
            return found | ({"was": was} if was else {})
        case events.PostEdited(message_id, text):
            return {"message_id": message_id, "text": text}
        case events.PostDeleted(message_id, waited):
            return {"message_id": message_id, "waited": waited}
        case ev.MessageResent(message_id, state, sends):
            return {"message_id": message_id, "state": state_name(state), "sends": sends}
        case events.ConnectionChanged():
            found = body._asdict()
            found.pop("ever")
            return {name: value for name, value in found.items() if value}
        case events.Joined(sender_id, nick):
            return {"sender_id": sender_id, "nick": nick}
        case ev.RepairCancelled(message_id, reason) | ev.PushCancelled(message_id, reason):
            return {"message_id": message_id, "why": reason}
        case ev.FilterIgnored(sender_id, reason):
            return {"sender_id": sender_id, "why": reason}
        case ev.FilterFormatChanged(filter_format):
            return {"layout": filter_format}
    return body._asdict()


def message_object(said: Said) -> dict[str, Any]:
    message, opened = said.message, said.opened
    found = described(
        message.message_id,
        message.sender_id,
        said.nick,
        message.lamport_timestamp,
        opened.text,
        message.content or b"",
        own=said.own,
        verdict=str(opened.verdict),
    )
    return found | manner(opened.kind, opened.reply_to)


def post_object(post: events.MemberPost) -> dict[str, Any]:
    found = described(
        post.message_id, post.sender_id, post.nick, None, post.text, b"", own=post.own, verdict=str(Verdict.KNOWN)
    )
    found |= {"edited": True} if post.edited else {}
    return found | manner(ContentKind.TEXT, post.reply_to)


def manner(kind: int, reply_to: str) -> dict[str, Any]:
    """Return what the `message` object has for an action, an operation and an answer, and only for those."""
    found: dict[str, Any] = {}
    if kind == ContentKind.ACTION:
        found["action"] = True
    if kind == ContentKind.OPERATION:
        found["operation"] = True
    return found | ({"reply_to": reply_to} if reply_to else {})


def described(
    message_id: str,
    sender_id: str,
    nick: str,
    lamport: int | None,
    text: str | None,
    content: bytes,
    *,
    own: bool,
    verdict: str,
) -> dict[str, Any]:
    """Return the `message` object. `verdict` judges the signature: known, new, unsigned, bad_signature, mismatched or
    not_member."""
    found: dict[str, Any] = {
        "message_id": message_id,
        "sender_id": sender_id,
        "nick": nick,
        "lamport": lamport,
    }
    if text is not None:
        found["text"] = text
    else:
        found["content"] = base64.b64encode(content).decode()
    found.update(own=own, verdict=verdict)
    return found


def state_name(state: AckState) -> str:
    return AckState(state).name.lower()


# The names of each kind of line, and the types of their values; those that may be left out end with "?".
_FORMS: Final[tuple[Mapping[str, type], ...]] = (
    {"to": str, "say": str},
    {"say": str, "reply_to?": str},
    {"edit": str, "text": str},
    {"delete": str},
    {"invite": str},
    {"leave": bool},
    {"show": str},
    {"open": str},
)


_TARGETS: Final = ("to", "edit", "delete", "invite", "show", "open")  # a person or a message: never an empty text
_NAME: Final = 40  # letters of an unknown name that are repeated


class InputLine(NamedTuple):
    """A line that was understood. `verb` is say, to, edit, delete, invite, leave, show or open."""

    verb: str
    text: str = ""
    target: str = ""  # a message id, a sender id or a nick


def read_line(line: bytes) -> InputLine:
    """Return what a line asks for. Raises ValueError with the reason, for a program."""
    try:
        found = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("it is no JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON in UTF-8: {error}") from None
    except RecursionError:
        raise ValueError("it has too many levels") from None
    except ValueError:
        raise ValueError("it has a number of too many digits") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    form = next((form for form in _FORMS if _fits(form, found)), None)
    if form is None:
        raise ValueError(
            'it must be one of {"say": TEXT, "reply_to": ID}, {"edit": ID, "text": TEXT}, {"delete": ID}, '
            '{"invite": SENDER_ID}, {"leave": true}, {"show": NICK_OR_ID}, {"open": NICK_OR_ID} and '
            f'{{"to": NICK_OR_ID, "say": TEXT}}; {_fault(found)}'
        )
    if blank := next((name for name in _TARGETS if not found.get(name, name).strip()), None):
        raise ValueError(f'"{blank}" is empty')
    return _line(found)


def _fault(found: dict[str, Any]) -> str:
    """Return what keeps an object from being the form that it is most like."""
    if not found:
        return "it is empty"
    forms = [{name.removesuffix("?"): kind for name, kind in form.items()} for form in _FORMS]
    form = max(forms, key=lambda form: (len(form.keys() & found.keys()), -len(form.keys() - found.keys())))
    if unknown := [name for name in found if name not in form]:
        return f"{json.dumps(unknown[0][:_NAME])} has no place here"
    wrong = [name for name, value in found.items() if type(value) is not form[name]]
    if wrong:
        return f'"{wrong[0]}" must be {"true" if form[wrong[0]] is bool else "a text"}'
    return f'"{next(name for name in form if name not in found)}" is missing'


def _fits(form: Mapping[str, type], found: dict[str, Any]) -> bool:
    wanted = {name for name in form if not name.endswith("?")}
    allowed = {name.removesuffix("?"): kind for name, kind in form.items()}
    return wanted <= found.keys() <= allowed.keys() and all(
        type(value) is allowed[name] for name, value in found.items()
    )


def _line(found: dict[str, Any]) -> InputLine:
    match found:
        case {"to": to, "say": text}:
            return InputLine("to", text, to)
        case {"say": text}:
            return InputLine("say", text, found.get("reply_to", ""))
        case {"edit": target, "text": text}:
            return InputLine("edit", text, target)
        case {"delete": target}:
            return InputLine("delete", target=target)
        case {"invite": target}:
            return InputLine("invite", target=target)
        case {"show": target}:
            return InputLine("show", target=target)
        case {"open": target}:
            return InputLine("open", target=target)
    if found["leave"] is not True:
        raise ValueError('"leave" must be true')
    return InputLine("leave")
