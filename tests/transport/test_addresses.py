"""Topics, addresses and secrets."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdschat.transport.address import (
    Address,
    AddressError,
    Secret,
    clear_text_problem,
    interface_addresses,
    own_addresses,
    parse_url,
)
from sdschat.transport.base import ParsedTopic, Topics, decoded, echo_topic, encoded, matches, normal_channel, place
from sdschat.transport.credentials import PASSWORD_VARIABLE, find_password

# Topics.


def test_the_topics_are_those_of_the_interface() -> None:
    topics = Topics("lobby")
    assert topics.msg == "sds/1/lobby/msg"
    assert topics.who("ab") == "sds/1/lobby/who/ab"
    assert topics.sync("to", "from") == "sds/1/lobby/sync/to/from"
    assert topics.store_query("me") == "sds/1/lobby/store/query/me"
    assert topics.store_answer("you") == "sds/1/lobby/store/answer/you"
    assert topics.timber("to", "from") == "sds/1/lobby/timber/to/from"
    assert Topics("a/b +#ü~", "x").msg == "x/a%2Fb%20%2B%23%C3%BC~/msg"


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1, max_size=60), st.text(min_size=1, max_size=32)
)
def test_any_channel_and_participant_come_back_from_their_topics(channel: str, who: str) -> None:
    try:
        name = normal_channel(channel)
        who.encode()
    except (ValueError, UnicodeEncodeError):
        return
    topics = Topics(channel)
    assert topics.channel == unicodedata.normalize("NFC", channel)
    assert topics.place(topics.msg) == ParsedTopic(name, "msg")
    assert topics.place(topics.who(who)) == ParsedTopic(name, "who", frm=who)
    assert topics.place(topics.sync(who, "x")) == ParsedTopic(name, "sync", who, "x")
    assert topics.place(topics.timber("x", who)) == ParsedTopic(name, "timber", "x", who)
    assert topics.place(topics.store_query(who)) == ParsedTopic(name, "store/query", frm=who)
    assert topics.place(topics.store_answer(who)) == ParsedTopic(name, "store/answer", who)
    for pattern, topic in (
        (topics.who_all, topics.who(who)),
        (topics.sync_to(who), topics.sync(who, "x")),
        (topics.timber_to(who), topics.timber(who, "x")),
        (topics.store_query_all, topics.store_query(who)),
        (topics.everything, topics.msg),
    ):
        assert matches(pattern, topic)
    assert not set("+#\0") & set(topics.msg + topics.who(who))
    assert echo_topic(who) != topics.msg


@given(st.text(max_size=60))
def test_reading_a_topic_is_total_and_knows_one_spelling_only(topic: str) -> None:
    place(topic)
    found = place(f"sds/1/{topic}/msg")
    assert found is None or encoded(found.channel) == topic


@pytest.mark.parametrize("who", ["", "x" * 129, "\u00fc" * 65, "x" * 60_000])
def test_a_topic_of_somebody_who_can_be_no_sender_means_nothing(who: str) -> None:
    topics = Topics("lobby")
    named = (topics.who(who), topics.sync(who, "x"), topics.sync("x", who), topics.timber("x", who))
    for topic in (*named, topics.store_query(who), topics.store_answer(who)):
        assert topics.place(topic) is None
    assert topics.place(topics.who("x" * 128)) == ParsedTopic("lobby", "who", frm="x" * 128)


@pytest.mark.parametrize("level", ["%", "%zz", "%ff", "a%2fb", "%41", "a+b", "ü"])
def test_other_spellings_of_a_name_are_not_names(level: str) -> None:
    assert decoded(level) is None


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb", "\x00", "\x9b", "\ud800"])
def test_names_that_are_no_channel_are_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="channel's name"):
        normal_channel(name)


@pytest.mark.parametrize("prefix", ["", "/", "a//b", "a/+", "#"])
def test_a_prefix_that_is_no_topic_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match=r"mqtt\.topic_prefix"):
        Topics("lobby", prefix)


@pytest.mark.parametrize(
    ("pattern", "topic", "hears"),
    [
        ("a/b", "a/b", True),
        ("a/+", "a/b", True),
        ("a/+", "a/b/c", False),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("+/b", "a/b", True),
        ("#", "$SYS/x", False),
        ("+/x", "$SYS/x", False),
        ("a/b/c", "a/b", False),
        ("a/+", "a", False),
        ("a/+", "a/", True),
    ],
)
def test_subscriptions_hear_what_mqtt_says(pattern: str, topic: str, hears: bool) -> None:
    assert matches(pattern, topic) is hears


# Addresses and secrets.


@pytest.mark.parametrize(
    ("url", "shown", "user", "password"),
    [
        ("mqtt://host", "mqtt://host:1883", None, None),
        ("host:99", "mqtt://host:99", None, None),
        ("mqtts://u:p%40ss@host", "mqtts://host:8883", "u", "p@ss"),
        ("ws://host", "ws://host:80/mqtt", None, None),
        ("wss://host:444/path", "wss://host:444/path", None, None),
        ("mqtt://[::1]:1884", "mqtt://[::1]:1884", None, None),
        ("mqtt://u:@h", "mqtt://h:1883", "u", ""),
    ],
)
def test_urls_are_read_and_shown_without_their_secret(
    url: str, shown: str, user: str | None, password: str | None
) -> None:
    address, secret = parse_url(url)
    assert str(address) == shown
    assert address.user == user
    assert (None if secret is None else secret.reveal()) == password
    assert "p@ss" not in repr((address, secret))


@pytest.mark.parametrize(
    "url",
    [
        "http://h",
        "mqtt://",
        "mqtt://h/path",
        "mqtt://h:x",
        "mqtt://h:0",
        "mqtt://u:se#cret@h",
        "mqtt://u:secret@h:99999",
    ],
)
def test_urls_that_cannot_be_used_are_refused_without_quoting_them(url: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_url(url)
    assert "broker's address" in str(refused.value)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("mqtt://u:p@example.org", False),
        ("ws://u:p@example.org", False),
        ("mqtts://u:p@example.org", True),
        ("mqtt://u:p@127.0.0.1", True),
        ("mqtt://u:p@localhost", True),
        ("mqtt://u:p@[::1]", True),
        ("mqtt://u@example.org", True),
        ("mqtt://u:p@127.0.0.1.example.org", False),
    ],
)
def test_a_password_goes_unencrypted_to_this_machine_only(url: str, sent: bool) -> None:
    address, secret = parse_url(url)
    problem = clear_text_problem(address, secret)
    assert (problem is None) is sent
    assert clear_text_problem(address, secret, allowed=True) is None
    if problem:
        assert "--allow-clear-password" in problem


def test_the_password_is_looked_for_in_order(tmp_path: Path) -> None:
    address = Address("mqtts", "h", 1, user="u")
    file = tmp_path / "password"
    file.write_text("of the file\nsecond line\n")
    file.chmod(0o600)
    environ = {PASSWORD_VARIABLE: "of the variable"}
    found = [
        find_password(address, Secret("of the url"), environ, file=file, ask=str.upper),
        find_password(address, None, environ, file=file, ask=str.upper),
        find_password(address, None, {}, file=file, ask=str.upper),
        find_password(address, None, {}, ask=lambda question: f"answer to {question}"),
        find_password(address, None, {}),
        find_password(Address("mqtt", "h", 1), None, {}, ask=str.upper),
    ]
    shown = [None if secret is None else secret.reveal() for secret in found]
    assert shown[:3] == ["of the url", "of the variable", "of the file"]
    assert shown[3:] == ["answer to Password of u at h: ", None, None]


def test_the_password_is_the_first_line_of_the_standard_input_and_the_rest_stays_there() -> None:
    code = (
        "import sys; from pathlib import Path; from sdschat.transport.address import Address;"
        "from sdschat.transport.credentials import find_password;"
        "secret = find_password(Address('mqtts', 'h', 1, user='u'), None, {}, file=Path('-'));"
        "print(secret.reveal(), sys.stdin.read())"
    )
    done = subprocess.run([sys.executable, "-c", code], input="s3cret\r\nhello", capture_output=True, text=True)
    assert done.stdout == "s3cret hello\n"


def test_a_password_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("secret")
    file.chmod(0o640)
    address = Address("mqtts", "h", 1, user="u")
    with pytest.raises(AddressError, match="chmod 600"):
        find_password(address, None, {}, file=file)
    with pytest.raises(AddressError, match="cannot be read"):
        find_password(address, None, {}, file=tmp_path / "absent")
    with pytest.raises(AddressError, match="not a file"):
        find_password(address, None, {}, file=tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the addresses of interfaces")
def test_the_addresses_of_interfaces_are_known_also_without_a_way_out() -> None:
    """A broker for a network of a few machines said that others type 0.0.0.0."""
    found = set(interface_addresses())
    assert "127.0.0.1" in found
    assert set(own_addresses()[:1]) <= found
