"""The same results from the same commands: here, with Java hidden, on a cluster of two workers, and over Connect.

    python -m tests.pipeline.cluster                    all of them
    python -m tests.pipeline.cluster standalone         this one alone, against the results here

This starts all of them on loopback and stops them again. It takes minutes, mostly for starts of Java, of which there
are two for each place and three for the servers; the seconds of each command are told as it ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from sdschat.experiment.grid.simulate import RunTable
from sdschat.pipeline.session.java import find_java, usable_home
from tests.audit.field import talk
from tests.lake.stream_kills import Arriving

_PATIENCE = 300  # seconds for a server to listen
_PLACES = {"packaged", "standalone", "connect"}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def started(command: list[str], folder: Path, name: str, port: int | None = None) -> Iterator[None]:
    """Run a server of Spark until the end of the block, with its output in a file."""
    import pyspark

    java = find_java().java
    assert java is not None, "a cluster needs Java"
    variables = {
        **os.environ,
        "JAVA_HOME": str(usable_home(java, folder)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_WORKER_DIR": str(folder / "work"),
        "SPARK_NO_DAEMONIZE": "1",
    }
    home = Path(pyspark.__file__).parent
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [str(home / "bin" / command[0]), *command[1:]],
            cwd=folder,
            env=variables,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait(process, port, folder / f"{name}.log")
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int | None, log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while port is not None and not _listens(port):
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"it does not listen: {log.read_text(errors='replace')[-1000:]}")
        time.sleep(0.2)


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """Run a master and two workers. Return the master's address."""
    port = free_port()
    address = f"spark://127.0.0.1:{port}"
    package = "org.apache.spark.deploy"
    master = ["spark-class", f"{package}.master.Master", "--host", "127.0.0.1", "--port", str(port)]
    worker = ["spark-class", f"{package}.worker.Worker", "--host", "127.0.0.1", "-c", "1", "-m", "1g"]
    with contextlib.ExitStack() as stack:
        stack.enter_context(started([*master, "--webui-port", str(free_port())], folder, "master", port))
        for name in ("one", "two"):
            own = free_port()
            command = [*worker, "--port", str(own), "--webui-port", str(free_port()), address]
            stack.enter_context(started(command, folder, name, own))
        yield address


@contextlib.contextmanager
def connect_server(folder: Path, master: str) -> Iterator[str]:
    port = free_port()
    command = [
        "spark-submit",
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "--master",
        master,
        "--conf",
        f"spark.connect.grpc.binding.port={port}",
        "--conf",
        "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.driver.memory=1g",
        "--conf",
        "spark.cores.max=2",
    ]
    with started(command, folder, "connect", port):
        yield f"sc://127.0.0.1:{port}"


def sdschat(*arguments: str, variables: Mapping[str, str] | None = None) -> str:
    command = [sys.executable, "-m", "sdschat", *arguments]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(variables or {})})
    print(f"{time.monotonic() - began:.0f} s: {' '.join(arguments)}", file=sys.stderr, flush=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.returncode}: {done.stderr[-1500:]}")
    return done.stdout


def without_java(folder: Path) -> dict[str, str]:
    """Return environment variables that hide every Java except the packaged one."""
    tools = folder / "tools"
    tools.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for program in sorted(Path(place).glob("*")):
            if not program.name.startswith("java") and not (tools / program.name).exists():
                (tools / program.name).symlink_to(program)
    return {"PATH": str(tools), "JAVA_HOME": ""}


def results(folder: Path, name: str, where: list[str], variables: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the results of the commands at this place."""
    lake = folder / name
    sdschat("simulate", "--grid", "ci", "--lake", str(lake), *where, variables=variables)
    runs = {run_id: run.figures for run_id, run in RunTable(lake).read().items()}
    stream = ["pipeline", "stream", str(folder / "segments"), "--lake", str(lake / "live"), "--once"]
    told = sdschat(*stream, variables=variables)
    run = ["pipeline", "run", str(folder / "field"), "--json", "--lake", str(lake / "field"), "-o", f"{lake}.html"]
    verdict = json.loads(sdschat(*run, *where, variables=variables))
    return {"runs": runs, "stream": told, "verdict": verdict}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", nargs="*", help=", ".join(_PLACES))
    places = set(parser.parse_args().places) or _PLACES
    if unknown := places - _PLACES:
        parser.error(f"no place is called {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "segments").mkdir()
        Arriving(folder / "segments", 4, 1).rest()
        talk(folder / "field")
        found = {"local": results(folder, "local", ["--master", "local[2]"])}
        if "packaged" in places:
            found["packaged"] = results(folder, "packaged", ["--master", "local[2]"], without_java(folder))
        if {"standalone", "connect"} & places:
            with cluster(folder) as master:
                found |= _on_cluster(folder, master, places)
    local = found["local"]
    same = {name: [what for what in local if each[what] == local[what]] for name, each in found.items()}
    print(json.dumps({"runs": len(local["runs"]), "same as local": same}))  # type: ignore[arg-type]
    return 0 if all(len(each) == len(local) for each in same.values()) else 1


def _on_cluster(folder: Path, master: str, places: set[str]) -> dict[str, dict[str, object]]:
    found = {}
    if "standalone" in places:
        small = ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.memory=1g"]
        found["standalone"] = results(folder, "standalone", ["--master", master, *small])
    if "connect" in places:
        with connect_server(folder, master) as remote:
            found["connect"] = results(folder, "connect", ["--remote", remote])
    return found


if __name__ == "__main__":
    sys.exit(main())
