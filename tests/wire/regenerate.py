"""Make `sdschat/wire/*_pb2.py` and their stubs from `proto/*.proto`: `python -m tests.wire.regenerate`."""

from __future__ import annotations

import importlib.resources
import subprocess
import sys
from pathlib import Path

from tests.needs import needs_program

ROOT = Path(__file__).resolve().parents[2]
PROTO = ROOT / "proto"
PACKAGE = "sdschat/wire"


def regenerate(target: Path, plugin: str) -> None:
    """Write the generated files below `target`, in the folders of their import names."""
    # Protobuf names a module after the path of its .proto file. Mounting proto/ as sdschat/wire makes that path the
    # module's place, so that generated files can import each other and clash with no other "sds.proto".
    sources = [f"{PACKAGE}/{path.name}" for path in sorted(PROTO.glob("*.proto"))]
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{PACKAGE}={PROTO}", f"-I{well_known}"]
    command += [f"--plugin=protoc-gen-mypy={plugin}", f"--python_out={target}", f"--mypy_out=quiet:{target}"]
    subprocess.run([*command, *sources], check=True, capture_output=True, text=True)


def generated(root: Path) -> dict[str, str]:
    """Return name and text of every generated file below `root`."""
    return {path.name: path.read_text() for path in sorted((root / PACKAGE).glob("*_pb2.py*"))}


if __name__ == "__main__":
    regenerate(ROOT, needs_program("protoc-gen-mypy"))
