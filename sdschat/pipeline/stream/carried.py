"""The function that a Connect server calls for every batch.

The server's process for it has pyspark, but no artifacts of the session, and so not this package. So `carried` is
pickled with its code (it may use nothing of this module), and takes the package as the bytes of a zip.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sdschat.pipeline.session.ship import package_zip

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def carried(files: DataFrame, batch: int, package: bytes, **more: Any) -> None:
    import atexit
    import importlib
    import os
    import shutil
    import sys
    import tempfile

    if not any(os.path.basename(place) == "sdschat-carried.zip" for place in sys.path):
        folder = tempfile.mkdtemp(prefix="sdschat-")
        atexit.register(shutil.rmtree, folder, True)
        place = os.path.join(folder, "sdschat-carried.zip")
        with open(place, "wb") as file:
            file.write(package)
        sys.path.insert(0, place)  # before an installed package, which may have another version
    importlib.import_module("sdschat.pipeline.stream.batches").do_batch(files, batch, **more)


def for_connect(lake: str, run_id: str) -> Callable[[DataFrame, int], None]:
    from pyspark import cloudpickle

    from sdschat.pipeline.stream import carried as this

    cloudpickle.register_pickle_by_value(this)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        package = package_zip(Path(folder)).read_bytes()
    return functools.partial(carried, package=package, lake=lake, run_id=run_id)
