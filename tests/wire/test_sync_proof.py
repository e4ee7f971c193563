"""The proof behind a sync message: taken off where it is whole and canonical, else left in the packet."""

from __future__ import annotations

import pytest

from sdschat.wire.sync_proof import SyncProof, split_proof, with_proof
from tests.wire.samples import CODEC, field, full_message

PACKET = CODEC.encode(full_message())
PROOF = SyncProof(b"k" * 32, 7, b"s" * 64)
LONGEST = SyncProof(b"\xff" * 32, 2**64 - 1, b"\xff" * 64)


@pytest.mark.parametrize("proof", [PROOF, PROOF._replace(counter=0), LONGEST], ids=["small", "least", "longest"])
@pytest.mark.parametrize("packet", [PACKET, b"", b"x"], ids=["packet", "nothing", "one byte"])
def test_a_proof_is_taken_off_again(packet: bytes, proof: SyncProof) -> None:
    assert split_proof(with_proof(packet, proof)) == (packet, proof)


def test_a_packet_with_a_proof_is_read_as_if_it_had_none() -> None:
    assert CODEC.decode(with_proof(PACKET, PROOF)) == full_message()


def test_the_last_of_two_proofs_is_taken_off() -> None:
    assert split_proof(with_proof(with_proof(PACKET, LONGEST), PROOF)) == (with_proof(PACKET, LONGEST), PROOF)


def test_a_proof_that_is_not_whole_stays() -> None:
    canonical = with_proof(PACKET, PROOF)
    head, body = PACKET + canonical[len(PACKET) : len(PACKET) + 3], canonical[len(PACKET) + 4 :]
    longer = body + field(9, 1)
    for packet in (
        PACKET,
        b"",
        with_proof(PACKET, PROOF._replace(author_key=b"k" * 31)),
        with_proof(PACKET, PROOF._replace(signature=b"s" * 65)),
        canonical[:-1],
        canonical + b"x",
        head,
        head + bytes([len(body) + 1]) + body,
        head + bytes([len(longer)]) + longer,
        head + b"\x01\xff",
    ):
        assert split_proof(packet) == (packet, None)
