"""Pages for a peer: their bounds, and what is in them."""

from __future__ import annotations

from sdschat.catchup import HIGHEST, LOWEST, LogKey
from sdschat.catchup.provider import (
    GIVES_WAY,
    PAGE_BYTES,
    PAGE_PACKETS,
    PLACE,
    SERVED,
    SLOW,
    HistoryProvider,
    StoredMessage,
)
from sdschat.catchup.responder import AT_ONCE, ReadingBudgets
from sdschat.catchup.values import LEAF, Declined, Frame, HistoryPage, IdOnly, Stretch, Want
from sdschat.wire.catchup_codec import decode_page, encode_page
from tests.catchup.compare import some_keys
from tests.catchup.world import Keys, Peer, World


def stretch(keys: Keys, start: int, end: int) -> Stretch:
    return Stretch(LogKey(*keys[start]), LogKey(*keys[end]))


def test_a_page_has_no_more_packets_than_it_may_also_of_several_stretches() -> None:
    keys = some_keys(1000)
    ann = Peer("ann", keys, 1)
    ann.size = 40
    provider = HistoryProvider(ann)
    want = Want((stretch(keys, 0, 200), stretch(keys, 300, 500), stretch(keys, 600, 700)), 10_000)
    assert provider.want("bob", Frame(1, 1, want), want, 0) is None
    pages = [shipment.page for shipment in provider.ship(0, ReadingBudgets())]
    assert [len(page.packets) for page in pages] == [PAGE_PACKETS, 500 - PAGE_PACKETS]
    assert [page.last for page in pages] == [False, True]
    given = [packet for page in pages for packet in page.packets]
    assert given == [ann.pack(key) for key in keys[:200] + keys[300:500] + keys[600:700]]


def test_a_page_of_several_stretches_has_no_more_bytes_than_it_may() -> None:
    keys = some_keys(1000)
    ann = Peer("ann", keys, 1)
    ann.size = 1000
    provider = HistoryProvider(ann)
    parts = tuple(stretch(keys, start, start + 5) for start in range(0, 100, 10))
    assert provider.want("bob", Frame(1, 1, Want(parts, 10_000)), Want(parts, 10_000), 0) is None
    pages = [shipment.page for shipment in provider.ship(0, ReadingBudgets())]
    sizes = [sum(map(len, page.packets)) for page in pages]
    assert sum(sizes) == 50_000
    assert max(sizes) <= PAGE_BYTES + 1000  # the last message may exceed it


def test_an_id_alone_that_is_no_sha_256_is_left_out_of_a_page() -> None:
    """A member of a private channel that gives nothing older to newcomers may make such an id. The page with it could
    not be encoded, and the newcomer got no history of anybody."""
    keys = [(1, f"{1:064x}"), (2, "not a hash"), (3, f"{3:064x}"), (4, f"{4:040x}")]
    ann = Peer("ann", keys, 1)
    provider = HistoryProvider(ann, lambda peer, one: StoredMessage(one.key, b"", "eve"))
    want = Want((Stretch(LOWEST, HIGHEST),), 100)
    assert provider.want("bob", Frame(1, 1, want), want, 0) is None
    (shipment,) = provider.ship(0, ReadingBudgets())
    page = decode_page(encode_page(shipment.page))
    assert isinstance(page, HistoryPage)
    assert page.ids == tuple(IdOnly(LogKey(*keys[at]), "eve") for at in (0, 2))
    assert page.last


def test_more_peers_than_are_served_at_a_time_are_told_that_we_are_busy() -> None:
    keys = some_keys(100)
    provider = HistoryProvider(Peer("ann", keys, 1))
    want = Want((stretch(keys, 0, 50),), 10_000)
    told = [provider.want(f"peer {number}", Frame(1, 1, want), want, 0) for number in range(SERVED + 1)]
    assert told == [None] * SERVED + [Declined("busy")]
    assert provider.want("peer 0", Frame(1, 2, want), want, 0) is None  # another one of somebody who is served
    provider.gave_up("peer 3")
    assert provider.want("somebody else", Frame(1, 1, want), want, 0) is None


def full() -> tuple[HistoryProvider, Want, list[Frame]]:
    """A provider that serves as many as it may, since 0."""
    keys = some_keys(3000)
    provider = HistoryProvider(Peer("ann", keys, 1))
    want = Want((stretch(keys, 0, len(keys) - 1),), 10_000)
    frames = [Frame(number, 1, want) for number in range(SERVED)]
    for frame in frames:
        assert provider.want(f"peer {frame.session}", frame, want, 0) is None
        provider.ship(0, ReadingBudgets())
    return provider, want, frames


def test_who_takes_pages_slowly_gives_its_place_to_another_one_and_takes_nobody_s_for_a_while() -> None:
    provider, want, frames = full()
    assert provider.makes_room("bob", PLACE - 1) is None
    assert provider.makes_room("peer 0", PLACE) is None, "it has a place"
    found = provider.makes_room("bob", PLACE)
    assert found == ("peer 0", frames[0])
    provider.gave_up("peer 0")
    assert provider.want("bob", Frame(1, 1, want), want, PLACE) is None
    assert provider.makes_room("peer 0", PLACE + GIVES_WAY - 1) is None
    assert provider.makes_room("peer 0", PLACE + GIVES_WAY) is not None


def test_who_gave_its_place_away_and_has_one_again_gives_it_away_at_once() -> None:
    provider, want, frames = full()
    assert provider.makes_room("bob", PLACE) is not None
    provider.gave_up("peer 0")
    assert provider.want("peer 0", frames[0], want, PLACE) is None, "nobody else wanted it"
    assert provider.makes_room("bob", PLACE + 1) == ("peer 0", frames[0])


def test_who_takes_pages_fast_keeps_its_place() -> None:
    provider, want, frames = full()
    for frame in frames[1:]:
        for _ in range(PLACE // SLOW):
            provider.arrived(f"peer {frame.session}", 0)
            provider.ship(0, ReadingBudgets())
    assert provider.makes_room("bob", PLACE) == ("peer 0", frames[0])
    provider.gave_up("peer 0")
    assert provider.want("bob", Frame(1, 1, want), want, PLACE) is None
    assert provider.makes_room("cas", PLACE) is None


def test_keys_that_want_all_and_take_nothing_keep_nobody_from_history() -> None:
    keys = some_keys(5000)
    greedy = [f"mal{number}" for number in range(2 * SERVED)]
    world = World({"ann": keys, "bob": [], **{name: [] for name in greedy}})
    everything = Want((stretch(keys, 0, len(keys) - 1),), 10_000)
    for name in greedy:
        world.kill(name)
    for second in range(60):
        for name in greedy:
            world.peers["ann"].exchange.frame(name, Frame(1, 1, everything), world.now())
        if second == 1:
            world.begin("bob")
            world.present("ann", "bob")
        world.run(1000 * (second + 1))
        if world.keys("bob") == keys:
            break
    assert world.keys("bob") == keys
    assert world.mono < 20_000


def test_no_more_is_read_at_once_for_short_ids_than_a_message_behind_it_can_wait_for() -> None:
    keys = some_keys(3 * LEAF)
    provider, budgets = HistoryProvider(Peer("ann", keys, 1)), ReadingBudgets()
    want = Want((stretch(keys, 0, 2 * LEAF)._replace(shorts=(1,)),) * 1024, 10_000)
    assert provider.want("bob", Frame(1, 1, want), want, 0) is None
    before = budgets.of("bob", 0).left
    pages = provider.ship(0, budgets)
    assert provider.is_held_back
    assert AT_ONCE <= before - budgets.of("bob", 0).left < 2 * AT_ONCE
    assert [page.packets for _, page in pages] == [()]


def test_who_used_up_its_reading_is_given_more_once_there_is_some_again() -> None:
    keys = some_keys(100)
    provider, budgets = HistoryProvider(Peer("ann", keys, 1)), ReadingBudgets()
    want = Want((stretch(keys, 0, 50),), 10_000)
    provider.want("bob", Frame(1, 1, want), want, 0)
    budgets.of("bob", 0).spend(budgets.of("bob", 0).left)
    assert (provider.ship(0, budgets), provider.is_held_back) == ([], True)
    (shipment,) = provider.ship(1, budgets)
    assert (len(shipment.page.packets), provider.is_held_back) == (50, False)
