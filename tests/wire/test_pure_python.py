"""The decoders on protobuf in pure Python, which is what machines without a compiled one have."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from google.protobuf.internal import api_implementation
from sdschat.wire import catchup_codec, chat_codec, members_codec, mvds_codec, nim_codec, packet_parts
from sdschat.wire import private_codec, sds_codec, store_codec, sync_proof, timber_codec
from tests.wire.samples import field

timber = timber_codec.TimberCodec()
decoders = [
    sds_codec.SdsCodec().decode, nim_codec.NimCodec().decode, mvds_codec.MvdsCodec().decode, packet_parts.parts,
    lambda raw: chat_codec.decode_envelope(b"SDC1" + raw), lambda raw: chat_codec.decode_envelope(b"SDC2" + raw),
    members_codec.decode_timber_envelope, members_codec.decode_announcement, sync_proof.split_proof,
    lambda raw: private_codec.decode_link(private_codec.SCHEME + private_codec._to_text(raw)),
    lambda raw: private_codec.decode_operation(private_codec._to_text(raw)),
    store_codec.decode_sealed, store_codec.decode_query, store_codec.decode_answer,
    catchup_codec.decode_extension, catchup_codec.decode_page, timber.decode, timber.decode_state,
]
assert api_implementation.Type() == "python"
for number in range(1, 22):
    for body in (b"\\xff", field(1, b"\\xff"), field(3, b"\\xff")):
        for decode in decoders:
            decode(field(number, body))
"""


def test_text_that_is_no_utf8_raises_nothing() -> None:
    environment = os.environ | {"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
