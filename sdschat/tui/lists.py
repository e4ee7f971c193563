"""The lists of channels and of participants as pages, for terminals without room for them beside the log."""

from __future__ import annotations

from sdschat.tui.host import Host
from sdschat.tui.model.cleaning import nick_text, short
from sdschat.tui.model.pages import Page
from sdschat.tui.model.status import heard_words


def channels_page(host: Host) -> Page:
    """Return the open channels and conversations; Enter shows one."""
    lines = []
    for number, name in enumerate(host.order, 1):
        unread, mentions = host.desktop.counted(name)
        news = f", {unread} unread" if unread else ""
        to_you = f", {mentions} to you" if mentions else ""
        lines.append(f"{number} {host.label(name)}: {host.badge(name)}{news}{to_you}")
    lines.append("/join CHANNEL opens another one")
    return Page("channels", lines, [*(f"go {number}" for number in range(1, len(lines))), "join"])


def people_page(host: Host) -> Page:
    """Return the participants; Enter writes to one alone."""
    now, glyphs = host.view.now().wall, host.glyphs
    connected = host.view.connected(host.room)
    people = host.view.channel(host.room).people()
    lines, runs = [], []
    for person in people:
        here = person.online and connected
        nick = nick_text(person.nick) or "(nothing signed yet)"
        sign = glyphs.online if here else glyphs.offline
        lines.append(f"{sign} {nick} {short(person.sender_id, 8)}  {heard_words(person._replace(online=here), now)}")
        runs.append("nick" if person.own else f"msg {person.sender_id}")
    count = sum(person.online for person in people)
    return Page(f"{count} here" if connected else "not connected", lines, runs)
