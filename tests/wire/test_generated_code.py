"""The generated code in the repository agrees with its .proto files."""

from __future__ import annotations

from pathlib import Path

from tests.needs import needs_module, needs_program
from tests.wire.regenerate import PROTO, ROOT, generated, regenerate

SPEC_MESSAGE = {
    "sender_id": 1,
    "message_id": 2,
    "channel_id": 3,
    "lamport_timestamp": 10,
    "causal_history": 11,
    "bloom_filter": 12,
    "repair_request": 13,
    "content": 20,
}
SPEC_ENTRY = {"message_id": 1, "retrieval_hint": 2, "sender_id": 3}


def test_generated_code_is_up_to_date(tmp_path: Path) -> None:
    needs_module("grpc_tools")
    regenerate(tmp_path, needs_program("protoc-gen-mypy"))
    fresh = generated(tmp_path)
    assert len(fresh) == 2 * len(list(PROTO.glob("*.proto")))
    assert generated(ROOT) == fresh, "run: python -m tests.wire.regenerate"


def test_field_numbers_are_the_specs() -> None:
    from sdschat.wire import sds_pb2

    def numbers(name: str) -> dict[str, int]:
        fields = sds_pb2.DESCRIPTOR.message_types_by_name[name].fields
        return {field.name: field.number for field in fields}

    assert numbers("Message") == SPEC_MESSAGE
    assert numbers("HistoryEntry") == SPEC_ENTRY
