"""Tables that answer: until when did everybody have it, what did text cost, did acknowledgements tell the truth?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from sdschat.audit.report.tables import table
from sdschat.audit.report.units import NOTHING, duration, moment, size
from sdschat.audit.tables.figures import AckCount, Acknowledgement, LastOne, Spread, Wire
from sdschat.audit.verdict import counted

Named = Callable[[str], str]


def spread_of(spread: Sequence[Spread], figure: str) -> Spread | None:
    """Return the spread of a figure of which a channel has one."""
    return next((row for row in spread if row.figure == figure), None)


def everybody_note(spread: Sequence[Spread]) -> str:
    whole, any_node = spread_of(spread, "everybody"), spread_of(spread, "reached")
    reached = 0 if any_node is None else any_node.n
    if whole is None:
        return f"Of {counted(reached, 'message', 'messages')} none is in the journals of all nodes." if reached else ""
    return (
        f"Everybody had {whole.n:,} of {counted(reached, 'message', 'messages')} that were delivered at all: half of "
        f"them within {duration(whole.p50)}, 95 % within {duration(whole.p95)}, the slowest within "
        f"{duration(whole.longest)}."
    )


def last_ones(rows: Sequence[LastOne], named: Named) -> str:
    ordered = sorted(rows, key=lambda row: (-row.messages, row.last_node, row.why))
    found = [
        [escape(named(row.last_node)), escape(row.why), f"{row.messages:,}", duration(row.longest)] for row in ordered
    ]
    return table(("Last to have it", "Why", "Messages", "Longest"), found, (2, 3))


def wire(rows: Sequence[Wire]) -> str:
    ordered = sorted(rows, key=lambda row: -row.bytes)
    cells = [
        [
            escape(row.cause or "other"),
            f"{row.packets:,}",
            size(row.bytes),
            NOTHING if row.per_byte is None else f"{row.per_byte:,.2f}",
        ]
        for row in ordered
    ]
    return table(("Sent as", "Packets", "Bytes", "For each byte of text"), cells, (1, 2, 3))


def wire_note(rows: Sequence[Wire]) -> str:
    text = next((row.text_bytes for row in rows if row.text_bytes), None)
    if text is None:
        return "By all nodes, by why it was sent."
    total = sum(row.bytes for row in rows)
    return f"{size(total)} for {size(text)} of content as it was said: {total / text:,.1f} bytes for each byte."


def truth_note(rows: Sequence[AckCount]) -> str:
    every, wrong = sum(row.n for row in rows), sum(row.wrong for row in rows)
    undecided = sum(row.undecided for row in rows)
    return (
        f"Of {counted(every, 'acknowledgement', 'acknowledgements')} by nodes that are here {wrong:,} "
        f"{'was' if wrong == 1 else 'were'} wrong, as the node did not have the message by then, and {undecided:,} "
        "too close for the clocks to tell. A possible acknowledgement may be wrong, by a Bloom filter's chance."
    )


def truth(rows: Sequence[AckCount], untrue: Sequence[Acknowledgement], named: Named) -> str:
    kinds = [
        [escape(row.state.replace("_", " ")), escape(row.how), f"{row.n:,}", f"{row.wrong:,}", f"{row.undecided:,}"]
        for row in rows
    ]
    worst = [
        [
            f'<code class="id">{escape(row.message_id[:12])}</code>',
            escape(row.state.replace("_", " ")),
            escape(row.how),
            escape(named(row.node)),
            escape(named(row.peer)),
            moment(row.said_ms),
            moment(row.had_ms) if row.had_ms else "never",
        ]
        for row in sorted(untrue, key=lambda row: (row.state, row.said_ms))
    ]
    headings = ("Message", "Said to be", "By", "At", "By whom", "Then (UTC)", "There (UTC)")
    return table(("State", "Drawn from", "Number", "Wrong", "Undecided"), kinds, (2, 3, 4)) + table(headings, worst)
