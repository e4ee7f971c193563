"""All rows read from the sources, by table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sdschat.audit.schemas import Declared, Journal, Message, Node, Quarantine

Row = Journal | Message | Node | Declared | Quarantine


@dataclass(slots=True)
class Taken:
    """The bronze tables. A row may occur twice, and in several readings of a database."""

    journal: list[Journal] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    declared: list[Declared] = field(default_factory=list)
    quarantine: list[Quarantine] = field(default_factory=list)

    def take(self, rows: Iterable[Row]) -> None:
        for row in rows:
            match row:
                case Journal():
                    self.journal.append(row)
                case Message():
                    self.messages.append(row)
                case Node():
                    self.nodes.append(row)
                case Declared():
                    self.declared.append(row)
                case Quarantine():
                    self.quarantine.append(row)
