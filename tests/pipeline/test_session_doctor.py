"""The output of `sdschat pipeline doctor`, `submit-args` and `init-sdp`."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sdschat.audit.errors import PipelineProblem
from sdschat.cli.pipeline import COMMANDS, command
from sdschat.cli.program import run
from sdschat.pipeline.doctor import BAD, GOOD, NOTE, examine
from sdschat.pipeline.sdp import init_sdp
from sdschat.pipeline.session import SparkTarget


def _home(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("", encoding="utf-8")
    (folder / "release").write_text(f'JAVA_VERSION="{version}"\n', encoding="utf-8")
    monkeypatch.setenv("JAVA_HOME", str(folder))


def test_the_java_that_is_used_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _home(tmp_path / "java", monkeypatch, "21.0.3")
    (java,) = [finding for finding in examine(SparkTarget("local[1]")) if finding.what == "Java"]
    assert (java.state, java.says) == (GOOD, f"21.0.3 from JAVA_HOME, {tmp_path / 'java'}")


def test_a_java_that_is_passed_over_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _home(tmp_path / "java", monkeypatch, "11.0.1")
    notes = [finding.says for finding in examine(SparkTarget("local[1]")) if finding.state == NOTE]
    assert any("is version 11.0.1" in note for note in notes)


def test_without_java_something_fails_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    bad = [finding for finding in examine(SparkTarget("local[1]")) if finding.state == BAD and finding.what == "Java"]
    assert "Install Java 17" in bad[0].says


def test_a_connect_server_needs_no_java_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    (java,) = [finding for finding in examine(SparkTarget("", "sc://there:1")) if finding.what == "Java"]
    assert java.state == GOOD


def test_every_finding_can_be_had_as_json() -> None:
    result = CliRunner().invoke(command, ["doctor", "--json"])
    found = [json.loads(line) for line in result.output.splitlines() if line.startswith("{")]
    assert {"where", "Java", "pyspark"} <= {finding["what"] for finding in found}


def test_the_submit_command_is_printed() -> None:
    result = CliRunner().invoke(
        command, ["submit-args", "--master", "k8s://https://h:1", "--", "audit", "--lake", "s3a://b/lake"]
    )
    assert result.output.startswith("spark-submit --master k8s://https://h:1")
    assert "audit --lake s3a://b/lake" in result.output
    assert "spark.kubernetes.container.image" in result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["adit", "--lake", "x"], "There is no command 'adit' of the pipeline. Did you mean audit?"),
        (["frobnicate"], "There are: ingest, run, consolidate, audit, metrics, report, stream, archive."),
        (["get", "--lake", "x", "3fa9"], "Run it here: sdschat pipeline get --lake x 3fa9"),
        (["audit"], "Missing option '--lake'"),
        (["audit", "--lake", "x", "--settel", "3m"], "No such option '--settel'"),
        (["audit", "--lake", "x", "--master", "yarn"], "--master is about where audit runs"),
    ],
)
def test_what_would_be_refused_on_the_cluster_is_not_submitted(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pipeline", "submit-args", "--master", "yarn", "--", *arguments]) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert said.out == ""


def test_for_a_connect_server_the_command_that_runs_there_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--remote", "sc://h:15002", "--conf", "spark.sql.shuffle.partitions=4"]
    assert run(["pipeline", "submit-args", *options, "--", "audit", "--lake", "s3a://b/my lake"]) == 0
    said = capsys.readouterr()
    assert said.out == (
        "sdschat pipeline audit --lake 's3a://b/my lake' --remote sc://h:15002 --conf spark.sql.shuffle.partitions=4\n"
    )
    assert "nothing is submitted" in said.err


@pytest.mark.parametrize("name", ["lake [1] {a} * #2 ?", 'it\'s "so"', "back\\slash", "seen: no"])
def test_a_declarative_project_takes_names_as_they_are(tmp_path: Path, name: str) -> None:
    written = init_sdp(tmp_path / name, f"/data/{name}")
    settings, code = (path.read_text(encoding="utf-8") for path in sorted(written, key=lambda path: path.suffix)[::-1])
    values = {
        target.id: ast.literal_eval(each.value)
        for each in ast.parse(code).body
        if isinstance(each, ast.Assign) and isinstance(target := each.targets[0], ast.Name)
    }
    assert values == {"LAKE": f"/data/{name}"}
    storage = next(line for line in settings.splitlines() if line.startswith("storage: "))
    assert json.loads(storage.removeprefix("storage: ")) == f"file://{tmp_path / name}/storage"


def test_a_declarative_project_is_written_once(tmp_path: Path) -> None:
    written = init_sdp(tmp_path / "nightly", "/data/lake")
    assert sorted(path.name for path in written) == ["spark-pipeline.yml", "tables.py"]
    code = next(path for path in written if path.suffix == ".py").read_text(encoding="utf-8")
    ast.parse(code)
    assert 'LAKE = "/data/lake"' in code
    with pytest.raises(PipelineProblem, match="is there already"):
        init_sdp(tmp_path / "nightly", "/data/lake")


@pytest.mark.parametrize("name", ["stream", "archive", "get", "doctor", "warmup", "submit-args", "init-sdp"])
def test_commands_are_listed_and_have_help(name: str) -> None:
    assert name in COMMANDS
    assert "Usage" in CliRunner().invoke(command, [name, "--help"]).output
