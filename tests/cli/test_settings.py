"""Sources of values, their order, and refused values."""

from __future__ import annotations

import contextlib
import errno
import getpass
import json
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.cli.errors import CommandProblem
from sdschat.cli.options import PASSWORD_SEEN, Chosen, resolve, written
from sdschat.cli.session import further_options, mqtt_options
from sdschat.node.profile import database_path, open_profile
from sdschat.node.quantities import duration, size
from sdschat.node.settings import SETTINGS, SettingError, make_settings, parse
from sdschat.sds.config import DEMO, SPEC
from tests.cli.processes import run


def chosen(tmp_path: Path, *sets: str, **more: object) -> Chosen:
    options = more.pop("options", {})
    environ = more.pop("environ", {})
    assert isinstance(options, dict)
    assert isinstance(environ, dict)
    return resolve(
        options,
        sets,
        environ,
        project=tmp_path / "project.toml",
        user=tmp_path / "user.toml",
        **more,  # type: ignore[arg-type]
    )


def test_each_source_gives_way_to_the_one_before_it(tmp_path: Path) -> None:
    project, user = tmp_path / "project.toml", tmp_path / "user.toml"

    def found() -> tuple[int, str]:
        now = chosen(tmp_path, *sets, environ=environ)
        return now.settings.config.t_min, now.origins["repair.t_min"]

    sets: list[str] = []
    environ: dict[str, str] = {}
    assert found() == (30_000, "default")
    user.write_text('[repair]\nt_min = "31s"\n')
    assert found() == (31_000, str(user))
    project.write_text("repair.t_min = 32000\n")
    assert found() == (32_000, str(project))
    environ["SDSCHAT_REPAIR_T_MIN"] = "33s"
    assert found() == (33_000, "SDSCHAT_REPAIR_T_MIN")
    sets.append("repair.t_min=34s")
    assert found() == (34_000, "--set")


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    """It names the broker, and so to whom a password goes."""
    project = tmp_path / "project.toml"
    project.write_text('broker = "mqtts://user@elsewhere.example"\n')
    assert chosen(tmp_path).general["broker"].origin == str(project)
    project.chmod(0o666)
    found = chosen(tmp_path)
    assert found.general["broker"].origin == "default"
    assert found.warnings == [
        f"Others may write {project}, so it is not read. Close it to them, or name it with --config."
    ]


def test_general_values_have_the_same_order(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('name = "of the file"\nbroker = "mqtt://file"\n')
    environ = {"SDSCHAT_NAME": "of the variable"}
    now = chosen(tmp_path, environ=environ, options={"name": "of the option"})
    assert now.general["name"] == ("of the option", "--name")
    assert now.profile == "of the option"
    assert chosen(tmp_path, environ=environ).general["name"] == ("of the variable", "SDSCHAT_NAME")
    assert chosen(tmp_path).general["broker"] == ("mqtt://file", str(tmp_path / "user.toml"))


@pytest.mark.parametrize(
    ("there", "name"),
    [
        ((), None),
        (("ann",), "ann"),
        (("ann", "ann-2", "store"), "ann"),
        (("store",), None),
        (("ann", "bob"), None),
        (("bus-12",), "bus-12"),
    ],
)
def test_who_was_here_before_is_so_again(tmp_path: Path, there: tuple[str, ...], name: str | None) -> None:
    for profile in there:
        path = database_path(tmp_path, profile)
        path.parent.mkdir(parents=True)
        path.touch()
    found = chosen(tmp_path, options={"data_dir": str(tmp_path)})
    users = getpass.getuser()
    assert (found.nick, found.profile) == ((name, name) if name else (users, users))
    assert chosen(tmp_path, options={"data_dir": str(tmp_path), "name": "carol"}).profile == "carol"


def test_who_took_a_nick_is_the_same_one_under_it(tmp_path: Path) -> None:
    """Under a new nick one began with a new key, and the chat warned of one's own old key."""
    path = database_path(tmp_path, "cara")
    profile = open_profile(path, make_settings({}, "spec"))
    with profile.store.transaction() as transaction:
        transaction.put_key(profile.identity.public_key, "carla", 1)
        transaction.put_key(bytes(32), "dora", 2)
    profile.store.close()

    def found(nick: str) -> str:
        return chosen(tmp_path, options={"data_dir": str(tmp_path), "name": nick}).profile

    assert [found(nick) for nick in ("carla", "cara", "dora")] == ["cara", "cara", "dora"]
    damaged = database_path(tmp_path, "anna")
    open_profile(damaged, make_settings({}, "spec")).store.close()
    damaged.write_bytes(b"no database" * 100)
    assert found("carla") == "cara", "what another profile lacks is nothing to this one"
    database_path(tmp_path, "carla").parent.mkdir()
    database_path(tmp_path, "carla").touch()
    assert found("carla") == "carla", "the name of a profile comes first"


def test_a_named_file_stands_in_for_both_others(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_text('name = "project"\n')
    other = tmp_path / "other.toml"
    other.write_text('timing = "demo"\n')
    now = chosen(tmp_path, config=other, environ={}, options={"data_dir": "/d"})
    assert now.settings.timing == "demo"
    assert now.nick != "project"
    with pytest.raises(CommandProblem, match="no configuration file"):
        chosen(tmp_path, config=tmp_path / "absent.toml")


def test_timing_demo_is_what_the_engine_calls_demo_with_timers_for_networks_that_take_their_time(
    tmp_path: Path,
) -> None:
    now = chosen(tmp_path, options={"timing": "demo"})
    config = now.settings.config
    assert (config.t_min, config.t_max, config.sync_interval) == (DEMO.t_min, DEMO.t_max, DEMO.sync_interval)
    assert config.push_delay_max >= 3 * 2 * 300  # others hear a push after 300 to 900 ms
    assert config.resend_max < DEMO.resend_max
    assert now.origins["repair.t_min"] == "default of timing demo"
    assert chosen(tmp_path).settings.config == SPEC


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("repair.tmin=3s", "Did you mean repair.t_min"),
        ("nothing", "has no value"),
        ("repair.t_min=soon", "must be a duration"),
        ("repair.t_min=500s", "repair.t_max is 2m, and must be more than repair.t_min, which is 500s"),
        ("sds.lost_after=1s", "sds.lost_after is 1s, and must be more than repair.t_max, which is 2m"),
        ("fault.delay=2h", "fault.delay is 7200.0 s, and must be from 0 to 3600 s"),
        ("sds.max_message_bytes=2000", "sds.max_message_bytes is 2000, and must be at least 2"),
        ("fault.loss=2", "from 0 to 1"),
        ("fault.loss=nan", "must be a number"),
        ("mqtt.qos=2", "from 0 to 1"),
        ("mqtt.topic_prefix=a/#", "^mqtt.topic_prefix is 'a/#', and must be one or more levels"),
        ("bloom.layout=round", "one of auto, compact, waku"),
        ("repair.enabled=maybe", "true or false"),
        ("sds.causal_history=2.5", "whole number"),
        ("embedded.port=0", "from 1 to 65535"),
    ],
)
def test_a_bad_setting_is_named_with_what_would_do(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(CommandProblem, match=says) as caught:
        chosen(tmp_path, text)
    assert caught.value.exit_code == 2


def test_a_bad_value_in_a_file_says_which_file(tmp_path: Path) -> None:
    (tmp_path / "project.toml").write_text('[mqtt]\nqos = "high"\n')
    with pytest.raises(CommandProblem, match=r"project\.toml"):
        chosen(tmp_path)
    (tmp_path / "project.toml").write_text("= 1")
    with pytest.raises(CommandProblem, match="cannot be read as TOML"):
        chosen(tmp_path)


def test_a_file_of_settings_that_the_system_does_not_give_is_no_bad_toml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied")

    (tmp_path / "project.toml").write_text("name = 1")
    monkeypatch.setattr(Path, "read_text", refused)
    with pytest.raises(CommandProblem, match=r"project\.toml cannot be read: Permission denied\."):
        chosen(tmp_path)


def test_of_settings_that_contradict_each_other_each_is_told_with_where_it_was_set(tmp_path: Path) -> None:
    project = tmp_path / "project.toml"
    project.write_text('[repair]\nt_min = "200s"\n')
    with pytest.raises(CommandProblem) as caught:
        chosen(tmp_path)
    assert str(caught.value) == (
        f"repair.t_max is 2m, and must be more than repair.t_min, which is 200s. (repair.t_min is from {project})"
    )
    with pytest.raises(CommandProblem) as caught:
        chosen(tmp_path, "repair.t_max=90s", environ={"SDSCHAT_REPAIR_T_MIN": "150s"})
    assert str(caught.value).endswith("(repair.t_max is from --set, repair.t_min is from SDSCHAT_REPAIR_T_MIN)")


def test_a_value_out_of_bounds_says_where_it_was_set(tmp_path: Path) -> None:
    with pytest.raises(CommandProblem) as caught:
        chosen(tmp_path, environ={"SDSCHAT_SDS_SYNC_INTERVAL": "5ms"})
    assert (
        str(caught.value) == "sds.sync_interval is 5ms, and must be from 10ms to 1d. (from SDSCHAT_SDS_SYNC_INTERVAL)"
    )


def test_a_mistyped_variable_is_a_warning(tmp_path: Path) -> None:
    environ = {"SDSCHAT_BORKER": "mqtt://a", "SDSCHAT_WIRE": "nim", "SDSCHAT_XYZ": "1", "SDSCHAT_NAME": "ann"}
    assert chosen(tmp_path, environ=environ).warnings == [
        "The variable SDSCHAT_BORKER is not known here. Did you mean SDSCHAT_BROKER?",
        "The variable SDSCHAT_WIRE is not known here. Did you mean SDSCHAT_SDS_WIRE?",
        "The variable SDSCHAT_XYZ is not known here.",
    ]


def test_variables_that_are_read_elsewhere_or_say_nothing_are_no_mistake(tmp_path: Path) -> None:
    environ = {"SDSCHAT_BROKER_PASSWORD": "p", "SDSCHAT_CONFIG": "c", "SDSCHAT_TEST_ALL": "1", "SDSCHAT_BORKER": ""}
    assert chosen(tmp_path, environ=environ).warnings == []


def test_an_unknown_name_in_a_file_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('nmae = "ann"\n')
    assert chosen(tmp_path).warnings == [
        f"{tmp_path / 'user.toml'} has a setting nmae, which is not known here. Did you mean name?"
    ]


def test_a_password_in_a_file_of_settings_is_told_its_own_file(tmp_path: Path) -> None:
    """The nearest name was that of the setting by which a password goes out where others can read it."""
    (tmp_path / "user.toml").write_text('[broker]\npassword = "x"\n')
    (said,) = chosen(tmp_path).warnings
    assert "password_file" in said
    assert "allow_clear_password" not in said


def test_response_groups_follow_from_the_participants() -> None:
    assert make_settings({"repair.expected_participants": 300}).config.num_response_groups == 3
    both = {"repair.expected_participants": 300, "repair.num_response_groups": 7}
    assert make_settings(both).config.num_response_groups == 7


def test_content_format_decides_how_ids_are_made() -> None:
    assert make_settings({"content.format": "text"}).config.id_rule == "text"
    assert make_settings({}).config.id_rule == "content"


def test_values_as_they_are_written_are_parsed() -> None:
    settings = make_settings({"fault.delay": "300ms", "sds.lost_after": "1m", "repair.enabled": "off"})
    assert settings.faults.delay == 0.3
    assert settings.config.lost_after == 60_000
    assert settings.config.repair_enabled is False


@pytest.mark.parametrize(("name", "value"), [("fault.delay", "soon"), ("fault.dealy", 300), ("mqtt.qos", "high")])
def test_what_cannot_be_a_setting_is_named(name: str, value: str | int) -> None:
    with pytest.raises(SettingError, match=name):
        make_settings({name: value})


def test_a_duration_beyond_all_times_is_refused() -> None:
    with pytest.raises(ValueError, match="hundred years"):
        duration("9" * 400)


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("250", 250), (250, 250), ("250ms", 250), ("1.5s", 1500), ("10m", 600_000), ("2h", 7_200_000), (" 3 s ", 3000)],
)
def test_durations(text: str | int, milliseconds: int) -> None:
    assert duration(text) == milliseconds


@given(st.text() | st.integers() | st.floats() | st.booleans())
def test_no_value_makes_parsing_fail_otherwise_than_said(value: str | int | float | bool) -> None:
    for name in SETTINGS:
        with contextlib.suppress(SettingError):
            parse(name, value)


def test_a_duration_is_written_in_the_largest_unit_that_fits() -> None:
    times = {"30d": 30 * 86_400_000, "36h": 36 * 3_600_000, "10m": 600_000, "1500ms": 1500, "0ms": 0}
    assert {written("journal.keep", value): value for value in times.values()} == times


def test_the_size_of_a_store_is_a_setting(tmp_path: Path) -> None:
    sizes = {"2G": 2 * 2**30, "1536M": 1536 * 2**20, "1500": 1500, "none": 0}
    assert {written("store.max_size", size(text)): size(text) for text in sizes} == sizes
    assert [size(text) for text in ("1.5 kib", "20gb", 512, "1.5t")] == [1536, 20 * 2**30, 512, 3 * 2**39]
    assert chosen(tmp_path).settings.max_size == 2 * 2**30
    (tmp_path / "user.toml").write_text('[store]\nmax_size = "3G"\n')
    assert chosen(tmp_path).settings.max_size == 3 * 2**30
    assert chosen(tmp_path, "store.max_size=1G").settings.max_size == 2**30


@pytest.mark.parametrize("name", ["store.max_size", "trust.strangers_share"])
def test_no_limit_is_a_size_wherever_it_is_written(tmp_path: Path, name: str) -> None:
    """A value was parsed twice, and the 0 that stands for no limit is no size that somebody writes."""
    assert chosen(tmp_path, f"{name}=none").settings.value(name) == 0
    assert chosen(tmp_path, environ={f"SDSCHAT_{name.replace('.', '_').upper()}": "none"}).settings.value(name) == 0
    table, _, key = name.partition(".")
    (tmp_path / "user.toml").write_text(f'[{table}]\n{key} = "none"\n')
    assert chosen(tmp_path).settings.value(name) == 0


@pytest.mark.parametrize("text", ["0", "0G", "-1", "2X", "", "G", "9" * 400, "0.1", True])
def test_what_is_no_size_is_refused_with_an_example(text: str | bool) -> None:
    with pytest.raises(SettingError, match=r"store\.max_size is .*, and must be a size such as 500M or 20G, or none\."):
        parse("store.max_size", text)


def test_what_config_prints_can_be_set_again() -> None:
    settings = make_settings({"repair.t_min": 2500, "repair.enabled": False}, "demo")
    values = {name: parse(name, written(name, settings.value(name))) for name in SETTINGS}
    again = make_settings(values, "demo")
    assert again.config == settings.config
    assert again.faults == settings.faults


def test_the_command_shows_every_setting_and_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "sdschat.toml").write_text("[sds]\ncausal_history = 3\n")
    done = run(
        tmp_path,
        "config",
        "--json",
        "--set",
        "repair.t_max=20s",
        "--timing",
        "demo",
        "--broker",
        "mqtts://u:pw@b",
        env={"SDSCHAT_NAME": "ann"},
    )
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: (row["value"], row["origin"]) for row in map(json.loads, done.stdout.splitlines())}
    assert set(SETTINGS) < set(rows)
    assert rows["sds.causal_history"] == ("3", "sdschat.toml")
    assert rows["repair.t_max"] == ("20s", "--set")
    assert rows["repair.t_min"] == ("2s", "default of timing demo")
    assert rows["name"] == ("ann", "SDSCHAT_NAME")
    assert rows["broker"] == ("mqtts://u@b:8883", "--broker")
    assert "pw" not in done.stdout.replace("password", "")


@pytest.mark.parametrize(
    ("broker", "environ", "warned"),
    [
        ("mqtts://u:pw@b", {}, True),
        ("u:pw@b", {}, True),
        ("mqtts://u@b", {}, False),
        ("mqtts://[", {}, False),
        (None, {"SDSCHAT_BROKER": "mqtts://u:pw@b"}, False),
        (None, {}, False),
    ],
)
def test_a_password_in_the_command_line_is_warned_of(
    tmp_path: Path, broker: str | None, environ: dict[str, str], warned: bool
) -> None:
    found = chosen(tmp_path, options={"broker": broker}, environ=environ)
    assert (PASSWORD_SEEN in found.warnings) is warned
    assert "pw" not in " ".join(found.warnings)


@pytest.mark.parametrize(
    ("options", "sets", "expected"),
    [
        ({}, (), ""),
        ({"ca_file": "/etc/our pki/ca.pem"}, (), " --ca-file ca.pem"),
        ({"cert_file": "/k/ann.pem", "key_file": "/k/ann.key"}, (), " --cert-file FILE --key-file FILE"),
        ({}, ("mqtt.topic_prefix=our/chat",), " --set mqtt.topic_prefix=our/chat"),
        ({}, ("embedded.port=18830",), " --set embedded.port=18830"),
        ({"broker": "mqtt://broker.example"}, ("embedded.port=18830",), ""),
    ],
)
def test_others_are_told_which_options_reach_this_broker(
    tmp_path: Path, options: dict[str, object], sets: tuple[str, ...], expected: str
) -> None:
    assert further_options(chosen(tmp_path, *sets, options=options)) == expected


@pytest.mark.parametrize("broker", [None, "mqtt://broker.example", "ws://broker.example/mqtt"])
@pytest.mark.parametrize("name", ["ca_file", "cert_file", "key_file"])
def test_a_file_for_tls_is_refused_where_the_way_is_without_it(tmp_path: Path, broker: str | None, name: str) -> None:
    with pytest.raises(CommandProblem, match=f"--{name.replace('_', '-')} is for encrypted"):
        mqtt_options(chosen(tmp_path, options={"broker": broker, name: "file.pem"}))


def test_a_file_for_tls_in_the_settings_is_for_brokers_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "user.toml").write_text('ca_file = "authority.pem"\n')
    options, _ = mqtt_options(chosen(tmp_path, options={"broker": "mqtt://broker.example"}))
    assert not options.address.encrypted


def test_a_bad_setting_ends_with_2(tmp_path: Path) -> None:
    done = run(tmp_path, "pipe", "lobby", "--set", "sds.sync=1s")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
