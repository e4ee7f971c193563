"""Links between the nodes of one process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sdschat.node.tools.links import Links
from sdschat.transport.fault_lane import Direction


def test_a_packet_is_lost_where_nobody_at_a_whole_link_sent_it_just_now() -> None:
    now = [0.0]
    links = Links("lobby", lambda: now[0])
    sent: Callable[[str, bytes], bool] = lambda nick, payload: links._loses(nick, Direction.OUT, "topic", payload)  # noqa: E731
    lost = partial(links._loses, "dave", Direction.IN, "topic")
    links.set("ann", "dave", cut=True)
    assert not sent("ann", b"hello")
    assert lost(b"hello")
    assert not lost(b"of a broker that kept it")
    assert not sent("bob", b"hello")
    assert not lost(b"hello"), "bob passed it on"
    now[0] = 60.0
    sent("ann", b"hello")
    assert lost(b"hello"), "ann says it again, long after bob"
    links.set("dave", "ann", cut=False)
    assert not lost(b"hello")
