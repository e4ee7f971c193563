"""TLS: every kind of good and bad certificate, against both brokers."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sdschat.transport.address import AddressError, Secret
from sdschat.transport.base import Connected, Disconnected, Published, Received, Why
from sdschat.transport.broker import BrokerConfig, BrokerTls
from sdschat.transport.client import MqttTransport
from sdschat.transport.mqtt_options import TlsOptions, client_context
from tests.needs import needs_program
from tests.transport.worlds import Mosquitto, client, connected, embedded, free_port, quick, run

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


class Authority:
    """A certificate authority made with the openssl program."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self.file = directory / f"{name}.pem"
        self._key = directory / f"{name}.key"
        self._openssl("req", "-x509", *KEY, "-keyout", self._key, "-out", self.file, "-subj", f"/CN={name}")

    def certificate(self, name: str, names: str, days: int = 30) -> tuple[Path, Path]:
        """Make a certificate and key for these subject alternative names; negative days make an expired one."""
        cert, key, request = (self._directory / f"{name}.{end}" for end in ("crt", "key", "csr"))
        extensions = self._directory / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
        self._openssl("req", *KEY, "-keyout", key, "-out", request, "-subj", f"/CN={name}")
        self._openssl(
            *("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self._key, "-CAcreateserial"),
            *("-out", cert, "-days", str(days), "-extfile", extensions),
        )
        return cert, key

    def _openssl(self, *words: str | Path) -> None:
        command = [needs_program("openssl"), *(str(word) for word in words)]
        subprocess.run(command, check=True, capture_output=True, cwd=self._directory)


class Papers:
    """A trusted authority, an unknown one, and certificates of every kind."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(exist_ok=True)
        self.authority = Authority(directory, "authority")
        self.stranger = Authority(directory, "stranger")
        here = "DNS:localhost,IP:127.0.0.1"
        self.good = self.authority.certificate("good", here)
        self.other_host = self.authority.certificate("other", "DNS:elsewhere.example")
        self.expired = self.authority.certificate("expired", here, days=-1)
        self.foreign = self.stranger.certificate("foreign", here)
        self.ours = self.authority.certificate("client", "DNS:alice")
        self.not_ours = self.stranger.certificate("mallory", "DNS:mallory")


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("papers"))


@contextlib.asynccontextmanager
async def serving(
    kind: str, tmp_path: Path, pair: tuple[Path, Path], client_ca: Path | None = None
) -> AsyncIterator[int]:
    """Run a broker of this kind with this certificate; return its port."""
    if kind == "mosquitto":
        settings = f"allow_anonymous true\ncertfile {pair[0]}\nkeyfile {pair[1]}\n"
        if client_ca is not None:
            settings += f"cafile {client_ca}\nrequire_certificate true\n"
        async with Mosquitto(tmp_path, settings) as mosquitto:
            yield mosquitto.port
    else:
        config = BrokerConfig(port=free_port(), tls=BrokerTls(*pair))
        async with embedded(config):
            yield config.port


@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_good_certificate_is_accepted(kind: str, host: str, papers: Papers, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with serving(kind, tmp_path, papers.good) as port:
            options = quick(f"mqtts://{host}:{port}", tls=TlsOptions(papers.authority.file))
            async with connected(options, "topic") as (alice, facts):
                assert facts.of(Connected)[0].encrypted
                async with connected(options, "topic") as (bob, _):
                    large = bytes(200 * 1024)  # many TLS records
                    bob.publish("topic", large, tag=1)
                    await facts.until(Received, where=lambda got: got.payload == large)
                alice.publish("topic", b"x", tag=1)
                await facts.until(Published)

    run(scenario)


@pytest.mark.parametrize("kind", ["mosquitto", "embedded"])
@pytest.mark.parametrize(
    ("certificate", "trusted", "said"),
    [
        ("other_host", "authority", "another host"),
        ("expired", "authority", "clock"),
        ("foreign", "authority", "No authority trusted here"),
        ("good", None, "No authority trusted here"),
    ],
)
def test_a_bad_certificate_is_refused_in_words(
    kind: str, certificate: str, trusted: str | None, said: str, papers: Papers, tmp_path: Path
) -> None:
    async def scenario() -> None:
        authority = None if trusted is None else getattr(papers, trusted).file
        async with serving(kind, tmp_path, getattr(papers, certificate)) as port:
            options = quick(
                f"mqtts://u:secret@localhost:{port}",
                tls=TlsOptions(authority),
                backoff_first=60.0,
                backoff_longest=60.0,
            )
            async with client(options) as (_, facts):
                refused = await facts.until(Disconnected)
                assert refused.why is Why.TLS_REFUSED
                assert said in refused.detail
                assert ".." not in refused.detail
                assert not facts.of(Connected)
                assert "secret" not in repr(facts.events)

    run(scenario)


@pytest.mark.parametrize(("ours", "accepted"), [("ours", True), ("not_ours", False), (None, False)])
def test_client_certificates(ours: str | None, accepted: bool, papers: Papers, tmp_path: Path) -> None:
    async def scenario() -> None:
        pair: tuple[Path | None, Path | None] = (None, None) if ours is None else getattr(papers, ours)
        tls = TlsOptions(papers.authority.file, *pair)
        async with (
            serving("mosquitto", tmp_path, papers.good, papers.authority.file) as port,
            client(quick(f"mqtts://localhost:{port}", tls=tls)) as (_, facts),
        ):
            if accepted:
                await facts.until(Connected)
                return
            refused = await facts.until(Disconnected)
            assert refused.why is Why.TLS_REFUSED
            assert "certificate" in refused.detail
            assert not facts.of(Connected)

    run(scenario)


def test_secure_websockets_carry_packets_of_many_records(papers: Papers, tmp_path: Path) -> None:
    async def scenario() -> None:
        config = BrokerConfig(port=free_port(), port_websocket=free_port(), tls=BrokerTls(*papers.good))
        async with embedded(config):
            options = quick(f"wss://localhost:{config.port_websocket}", tls=TlsOptions(papers.authority.file))
            async with connected(options, "topic") as (alice, facts):
                for tag in range(5):
                    alice.publish("topic", bytes([tag]) * 150_000, tag=tag)
                await facts.until(Received, 5)
                assert [got.payload[0] for got in facts.of(Received)] == list(range(5))

    run(scenario)


def test_tls_to_a_port_without_it_is_told(tmp_path: Path, papers: Papers) -> None:
    async def scenario() -> None:
        async with Mosquitto(tmp_path) as mosquitto:
            options = quick(f"mqtts://localhost:{mosquitto.port}", tls=TlsOptions(papers.authority.file))
            async with client(options) as (_, facts):
                refused = await facts.until(Disconnected)
                assert refused.why is Why.TLS_REFUSED
                assert "TLS on this port" in refused.detail

    run(scenario)


def test_a_broker_that_hangs_up_on_tls_is_told_with_what_to_try(papers: Papers) -> None:
    async def scenario() -> None:
        config = BrokerConfig(port=free_port())
        options = quick(f"mqtts://localhost:{config.port}", tls=TlsOptions(papers.authority.file))
        async with embedded(config), client(options) as (_, facts):
            refused = await facts.until(Disconnected)
            assert refused.why is Why.TLS_REFUSED
            assert "Does it speak TLS on this port? Without it: mqtt://" in refused.detail

    run(scenario)


def test_verification_is_on_and_old_versions_are_off(papers: Papers) -> None:
    context = client_context(TlsOptions(papers.authority.file))
    assert context.check_hostname
    assert context.verify_mode.name == "CERT_REQUIRED"
    assert context.minimum_version.name == "TLSv1_2"


def test_files_that_cannot_be_used_are_told_before_connecting(papers: Papers, tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("not a certificate")
    locked = tmp_path / "locked.key"
    words = (needs_program("openssl"), "genrsa", "-aes128", "-passout", "pass:1234", "-out", str(locked), "1024")
    subprocess.run(words, check=True, capture_output=True)
    for options, said in (
        (TlsOptions(tmp_path / "absent"), "authority file"),
        (TlsOptions(nonsense), "authority file"),
        (TlsOptions(None, papers.ours[0], papers.not_ours[1]), "with its key"),
        (TlsOptions(None, papers.ours[0], tmp_path / "absent"), "with its key"),
        (TlsOptions(None, papers.ours[0], locked), "passphrase"),
        (TlsOptions(None, papers.ours[0], None), "--key-file"),
        (TlsOptions(None, None, papers.ours[1]), "no certificate"),
    ):
        with pytest.raises(AddressError, match=said):
            MqttTransport(quick("mqtts://localhost", tls=options, password=Secret("x")))
