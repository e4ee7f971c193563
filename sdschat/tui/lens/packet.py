"""The view of one packet: fields, sizes, rules that it breaks, bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sdschat.node.view.packet_report import packet_fields, packet_report
from sdschat.node.view.values import Message, Refusal
from sdschat.tui.lens.trace import PacketSeen
from sdschat.tui.lens.view_input import Line, ViewInput, columns, heading, line, paragraph
from sdschat.tui.model.words import clean, clock, short

_ROW: Final = 16
_MOST_BYTES: Final = 1024  # shown as hexadecimal digits
_LATEST: Final = 40
_VALUE: Final = 200


def view(view: ViewInput) -> list[Line]:
    """Show the packet of the selected message; with a number, that recent packet; else the list of recent packets."""
    argument = view.argument.strip()
    if argument.isascii() and argument.isdigit() and len(argument) < 8:
        seen = next((each for each in view.trace.packets if each.number == int(argument)), None)
        if seen is not None:
            return [heading(f"packet {seen.number}, {_way(seen)}, {clock(seen.at)}"), *dissect(seen.raw, view.width)]
    if view.selection is None:
        return _list(view)
    raw = view.raw(view.selection)
    if raw is None:
        text = f"The packet of {short(view.selection)} is not here: it is missing, or its body is not kept any more."
        return paragraph(text, view.width)
    return [heading(f"packet of message {short(view.selection, 8)}"), *dissect(raw, view.width)]


def _way(seen: PacketSeen) -> str:
    return f"out, {seen.why}" if seen.out else f"in, {seen.why}"


def _list(view: ViewInput) -> list[Line]:
    lines = [heading("packets lately"), line(("  /lens packet NUMBER takes one apart", "note"))]
    if not view.trace.packets:
        lines.append(line(("  none came or went since the Lens was opened", "note")))
    for seen in list(view.trace.packets)[-_LATEST:][::-1]:
        message, author = seen.message, line()
        if isinstance(message, Refusal):
            what, style = f"refused: {message.reason}", "refused"
        elif isinstance(message, Message):
            what, style = f"{message.kind} by ", ""
            author = line((view.who(message.sender_id), f"nick:{message.sender_id}"))
            if message.sender_id == view.peek.me:
                author += line((", back from the broker", "note"))
        else:
            what, style = seen.why, "note"
        lines.append(
            columns(
                (6, 3, 8, 8),
                (str(seen.number), "id"),
                "out" if seen.out else "in",
                (clock(seen.at), "time"),
                f"{len(seen.raw)} B",
                (what, style),
            )
            + author
        )
    return lines


def dissect(raw: bytes, width: int) -> list[Line]:
    report = packet_report(raw)
    lines = [line((f"  {len(raw)} bytes, {report['dialect']}", "note"))]
    if not report["accepted"]:
        lines += paragraph(
            f"refused: {report['reason']}: {clean(str(report['detail']), limit=_VALUE)}", width, "refused", 2
        )
    lines += _rules(report["broken_rules"], width)
    lines += [line(""), columns((5, 18, 6), ("no", "note"), ("field", "note"), ("bytes", "note"), ("value", "note"))]
    for part in packet_fields(raw):
        value = clean(part.value, limit=_VALUE)
        lines.append(
            columns((5, 18, 6), (str(part.number), "id"), part.name, (f"{part.size:>5}", "time"), (value, "quote"))
        )
    content = report.get("content")
    if content:
        lines += _content(content, str(report["id_recipe"]))
    return [*lines, line(""), *_hex(raw, width)]


def _rules(broken: list[dict[str, str]], width: int) -> list[Line]:
    if not broken:
        return [line(("  breaks no rule that one packet can show", "acked"))]
    lines: list[Line] = []
    for each in broken:
        lines += paragraph(f"breaks {each['rule']}: {clean(each['what'], limit=_VALUE)}", width, "refused", 2)
    return lines


def _content(content: dict[str, object], recipe: str) -> list[Line]:
    shown = {"id follows from": recipe, **content}
    return [line(""), heading("content")] + [
        columns((12,), (f"  {name}", "note"), clean(str(value), limit=_VALUE)) for name, value in shown.items()
    ]


def _hex(raw: bytes, width: int) -> Iterator[Line]:
    """Yield lines of address, bytes and their ASCII characters; narrow views have fewer bytes to a line."""
    row = _ROW if width >= 5 + _ROW * 4 else _ROW // 2
    for at in range(0, min(len(raw), _MOST_BYTES), row):
        part = raw[at : at + row]
        digits = " ".join(f"{byte:02x}" for byte in part)
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)
        yield line((f"{at:04x} ", "time"), (f"{digits:<{row * 3}}", "text"), (letters, "quote"))
    if len(raw) > _MOST_BYTES:
        yield line((f"     and {len(raw) - _MOST_BYTES} bytes more", "note"))
