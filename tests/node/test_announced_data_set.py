"""The announcement of a members' channel: which one stands."""

from __future__ import annotations

from pathlib import Path

from sdschat.identity.members import announce, first_operation, read_announcement
from sdschat.identity.signing import Identity
from sdschat.node.members.announced import AnnouncedDataSet
from sdschat.node.members.saved import create_members
from sdschat.store.store import Store
from sdschat.timber.config import Config
from sdschat.wire.sds_codec import SdsCodec

ANN = Identity(b"a" * 32)


def test_an_older_announcement_that_somebody_sends_again_does_not_stand_for_ours(tmp_path: Path) -> None:
    """A newcomer would ask those for the state who were members then, and are gone."""
    with Store.open(tmp_path / "sdschat.db", SdsCodec()) as store:
        record = create_members(store, ANN, "garden", Config())
    newest = announce(ANN, "garden", first_operation(record.announcement), [ANN.public_key], 2)
    published: list[bytes] = []
    announced = AnnouncedDataSet(ANN)
    announced.attach("garden", published.append)
    announced.begin(record._replace(announcement=newest), kept=True)
    announced.connected(0)
    older = read_announcement(record.announcement, "garden")
    assert older is not None
    assert not announced.hear(older)
    announced.advance(1000)
    assert published == [newest]
