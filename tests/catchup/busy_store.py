"""The program sdschat with a Store that answers *busy* as long as the file of SDSCHAT_TEST_BUSY exists."""

from __future__ import annotations

import os
from pathlib import Path

from sdschat.cli import main
from sdschat.node.store_server.server import StoreServer

_is_full = StoreServer._is_full


def _is_full_by_file(server: StoreServer) -> bool:
    return Path(os.environ["SDSCHAT_TEST_BUSY"]).exists() or _is_full(server)


if __name__ == "__main__":
    StoreServer._is_full = _is_full_by_file  # type: ignore[method-assign, assignment]
    main()
