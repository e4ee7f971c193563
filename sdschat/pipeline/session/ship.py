"""The package as a zip, sent to the machines on which it runs."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from typing import Final

import sdschat

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # one fixed date, so that equal contents give an equal file
_LEFT_OUT: Final = ("__pycache__", ".pyc")


def package_files() -> list[tuple[str, Path]]:
    root = Path(sdschat.__file__).parent
    found = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return [
        (path.relative_to(root.parent).as_posix(), path)
        for path in found
        if not any(part in _LEFT_OUT or part.endswith(_LEFT_OUT) for part in path.parts)
    ]


def package_zip(folder: Path) -> Path:
    """Return a zip of the package, made if it does not exist. Its name contains a hash of its content."""
    files = [(name, path.read_bytes()) for name, path in package_files()]
    digest = hashlib.sha256()
    for name, body in files:
        digest.update(f"{name} {len(body)}\n".encode())
        digest.update(body)
    target = folder / f"sdschat-{sdschat.__version__}-{digest.hexdigest()[:12]}.zip"
    if target.exists():
        return target
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".{target.name}.{os.getpid()}"
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), body, zipfile.ZIP_DEFLATED)
    fresh.replace(target)
    return target


def package_root() -> Path:
    """Return the folder to import the package from, for workers on this machine."""
    return Path(sdschat.__file__).parent.parent
