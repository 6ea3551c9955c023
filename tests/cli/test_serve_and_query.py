"""`srfix serve` and `srfix query`: what they refuse, and a look-up without a server."""

from __future__ import annotations

import errno
import json
import signal
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import click
import pytest
import requests
import trustme

from srfix.cli.commands.query import query
from srfix.cli.commands.serve import authorization
from srfix.cli.commands.stores_to_serve import partitioner_of
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.intercept import Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.serving import starting
from srfix.recovery.serving.starting import Place, serve_stores
from srfix.serde.errors import UsageError
from tests.cli.kept_demo import SRFIX, environment, srfix
from tests.recovery.state.reading.test_real_directories import DATA

SHOP = ["--application", "shop", "--store", "users"]
TOPIC = ["--topic", "users"]
KEPT = ["--data-dir", "d"]
STATE = DATA / "3.9.2" / "state"


def _header(token: str | None = None, user: str | None = None) -> str | None:
    with click.Context(query) as ctx:
        ctx.params = {"token": token, "user": user}
        return authorization(token, user)


class TestCredentials:
    @pytest.mark.parametrize("text", ["ann:s3:cret", "env:BOTH", "ann:env:ONE"])
    def test_a_user_and_a_password_may_come_from_the_environment(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BOTH", "ann:s3:cret")
        monkeypatch.setenv("ONE", "s3:cret")
        assert _header(user=text) == f"Basic {b64encode(b'ann:s3:cret').decode()}"
        assert _header(token="env:ONE") == "Bearer s3:cret"
        assert _header() is None

    @pytest.mark.parametrize("text", ["secret", ""])
    def test_what_is_no_user_with_a_password_is_refused_without_showing_it(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"^Credentials must be USER:PASSWORD") as refused:
            _header(user=text)
        assert "secret" not in str(refused.value)

    @pytest.mark.parametrize("text", ["ann:", "ann:env:EMPTY"])
    def test_an_empty_password_is_refused(self, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EMPTY", "")
        with pytest.raises(UsageError, match="The password of --user is empty"):
            _header(user=text)

    @pytest.mark.parametrize(
        "command", [["serve", *TOPIC, *KEPT], ["query", "users", "ann", "--url", "http://127.0.0.1:9"]]
    )
    def test_one_kind_of_credentials_at_a_time(self, command: list[str]) -> None:
        done = srfix(*command, "--token", "s3cret", "--user", "a:s3cret")
        assert (done.returncode, "Give either --token or --user." in done.stderr) == (2, True)
        assert "s3cret" not in done.stderr


class TestWhatServeRefuses:
    @pytest.mark.parametrize(
        ("options", "phrase"),
        [
            (["--store", "users", *KEPT], "--application ID --store NAME, or --topic NAME."),
            (["--application", "shop", *KEPT], "--application ID --store NAME, or --topic NAME."),
            ([*SHOP, *TOPIC, *KEPT], "--application ID --store NAME, or --topic NAME."),
            ([*TOPIC, *KEPT, "--state-dir", "state"], "leave them out with --topic"),
            ([*TOPIC, "--rows-in", "redis://redis", "--standbys", "1", "--group", "g"], "leave out --standbys"),
            ([*SHOP, "--store", "a,b", "--from-topic", "t", *KEPT], "give one --store"),
            ([*SHOP, *KEPT, "--group", "shop"], "is the application's own group"),
            (TOPIC, "Give --data-dir DIR"),
            ([*TOPIC, *KEPT, "--listen", "8088"], "expected HOST:PORT, not '8088'."),
            ([*TOPIC, *KEPT, "--listen", "off"], "expected HOST:PORT, not 'off'."),
            ([*TOPIC, *KEPT, "--rows-in", "redis://redis"], "Give --data-dir DIR"),
        ],
    )
    def test_what_does_not_fit_together(self, options: list[str], phrase: str, tmp_path: Path) -> None:
        done = srfix("serve", *options, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert phrase in done.stderr

    def test_the_command_line_decides(self, tmp_path: Path) -> None:
        """What is set in the environment for another `srfix serve` does not stand in its way."""
        set_for_others = {
            "SRFIX_APPLICATION": "shop",
            "SRFIX_STORE": "users",
            "SRFIX_DATA_DIR": "d",
            "SRFIX_TOKEN": "t",
        }
        done = srfix(
            "serve", *TOPIC, "--rows-in", "redis://127.0.0.1:9", "--user", "a:b", env=set_for_others, cwd=tmp_path
        )
        assert (done.returncode, "redis" in done.stderr) == (2, True)


class TestPlace:
    def test_how_others_reach_it(self) -> None:
        assert Place(listen=("::", 0), advertise=("::1", 8088), group="g").address("::", 1) == "[::1]:8088"
        assert Place(listen=("0.0.0.0", 0), advertise=("host", 8088)).address("0.0.0.0", 1) == "host:8088"
        assert Place(listen=("127.0.0.1", 0)).address("127.0.0.1", 1) == "127.0.0.1:1"

    @pytest.mark.parametrize("more", [{"tls_certificate": "c"}, {"tls_key": "k"}, {"tls_ca": "a"}])
    def test_half_of_tls_is_refused(self, more: dict[str, str]) -> None:
        with pytest.raises(UsageError, match="--tls-certificate and --tls-key"):
            Place(listen=("127.0.0.1", 0), **more)  # type: ignore[arg-type]

    def test_standbys_are_for_several_members(self) -> None:
        with pytest.raises(UsageError, match="give --group"):
            Place(listen=("127.0.0.1", 0), standbys=1)

    @pytest.mark.parametrize("what", ["certificate", "key", "ca"])
    @pytest.mark.parametrize("text", [None, "nothing"])
    def test_a_file_of_tls_that_cannot_be_used_is_named(self, tmp_path: Path, what: str, text: str | None) -> None:
        trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "good"))
        if text is not None:
            (tmp_path / "bad").write_text(text)
        files = dict.fromkeys(("tls_certificate", "tls_key", "tls_ca"), str(tmp_path / "good"))
        place = Place(listen=("::1", 0), **files | {f"tls_{what}": str(tmp_path / "bad")})  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=rf"^The file of --tls-{what} cannot be used"):
            place.trust()

    def test_the_key_of_another_certificate_is_named(self, tmp_path: Path) -> None:
        for name in ("one", "other"):
            trustme.CA().issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / name))
        with pytest.raises(UsageError, match=r"^The file of --tls-key cannot be used"):
            Place(listen=("::1", 0), tls_certificate=str(tmp_path / "one"), tls_key=str(tmp_path / "other")).trust()

    @pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux only")
    def test_a_client_that_reads_nothing_loses_its_connection(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(starting, "_UNREAD_MS", 200)
        with (
            starting._listening(Place(listen=("127.0.0.1", 0))) as listening,
            socket.create_connection(listening.getsockname()),
            listening.accept()[0] as accepted,
        ):
            accepted.settimeout(8)
            with pytest.raises(TimeoutError) as ended:
                accepted.sendall(bytes(64 << 20))
            assert ended.value.errno == errno.ETIMEDOUT

    @pytest.mark.parametrize("host", ["0.0.0.0", "::"])
    def test_in_a_group_every_address_is_none(self, host: str) -> None:
        with pytest.raises(UsageError, match="--advertise HOST:PORT"):
            serve_stores([], Place(listen=(host, 0), group="g"), **_none())  # type: ignore[arg-type]

    @pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
    def test_it_listens_on_addresses_of_both_kinds(self, host: str) -> None:
        with starting._listening(Place(listen=(host, 0))) as listening:
            port = listening.getsockname()[1]
            socket.create_connection((host, port), timeout=5).close()
            with pytest.raises(UsageError, match="cannot listen on"):
                starting._listening(Place(listen=(host, port)))


def _none() -> dict[str, object]:
    return dict.fromkeys(("credentials", "client", "committed", "make_database", "version", "on_start", "tell"))


class TestPartitioner:
    def test_by_name_or_of_python(self) -> None:
        assert partitioner_of("murmur2")(b"21", 6) == 0
        assert partitioner_of("crc32")(b"123456789", 7) == 0xCBF43926 % 7
        assert partitioner_of("tests.cli.test_serve_and_query:first")(b"21", 6) == 5

    @pytest.mark.parametrize("name", ["fnv", "no.such:thing", "json:nothing", ":", "a:b:c"])
    def test_one_that_there_is_not(self, name: str) -> None:
        with pytest.raises(UsageError, match="--partitioner"):
            partitioner_of(name)


def first(_key: bytes, count: int) -> int:
    return count - 1


class TestQueryOfADirectory:
    def test_it_prints_what_state_get_prints(self) -> None:
        scanned = srfix("state", "scan", STATE, "--store", "ts", "--output", "json")
        assert '"text": "' in scanned.stdout
        key = scanned.stdout.split('"text": "')[1].split('"')[0]
        ours = srfix("query", "ts", key, "--state-dir", STATE, "--output", "json")
        assert ours.stdout == srfix("state", "get", STATE, key, "--store", "ts", "--output", "json").stdout
        assert (ours.returncode, len(ours.stdout.splitlines())) == (0, 1)
        assert srfix("query", "ts", "nobody", "--state-dir", STATE).returncode == 1

    def test_it_needs_a_server_or_a_directory_and_not_both(self) -> None:
        for more in ([], ["--url", "http://x", "--state-dir", "y"], ["--state-dir", "y", "--at", "3"]):
            done = srfix("query", "ts", "k", *more)
            assert done.returncode == 2
            assert "--url" in done.stderr

    def test_a_server_of_the_environment_does_not_stand_in_the_way(self) -> None:
        for_others = {"SRFIX_URL": "http://127.0.0.1:9", "SRFIX_TOKEN": "s3cret"}
        done = srfix("query", "ts", "nobody", "--state-dir", STATE, env=for_others)
        assert (done.returncode, "There is no row." in done.stdout) == (1, True)

    @pytest.mark.parametrize("url", ["foo", "127.0.0.1:8088", "ftp://server", "http://"])
    def test_an_address_that_is_none(self, url: str) -> None:
        done = srfix("query", "ts", "k", "--url", url)
        assert done.returncode == 2
        assert "--url is not the address of a server. Give http://HOST:PORT" in done.stderr

    def test_a_server_that_is_not_there(self) -> None:
        done = srfix("query", "ts", "k", "--url", "http://127.0.0.1:9", "--token", "s3cret")
        assert done.returncode != 0
        assert "did not answer" in done.stderr
        assert "s3cret" not in done.stderr

    def test_a_server_whose_tls_is_not_trusted(self) -> None:
        """Or that speaks no TLS, as here: `requests` raises the same error."""
        with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
            Thread(target=server.handle_request, daemon=True).start()
            done = srfix("query", "ts", "k", "--url", f"https://127.0.0.1:{server.server_port}")
        assert done.returncode == 2
        assert "REQUESTS_CA_BUNDLE" in done.stderr


@contextmanager
def served(broker: EmbeddedBroker, folder: Path, *options: str, env: Mapping[str, str] | None = None) -> Iterator[str]:
    """The URL of `srfix serve`, as a process of its own that is ready; it ends well, and shows no secret."""
    command = [
        *(SRFIX, "serve", *options, "--bootstrap-servers", broker.bootstrap_servers),
        *("--data-dir", str(folder / "rows"), "--listen", "127.0.0.1:0"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(env))
    with process:
        assert process.stdout is not None
        lines: list[str] = []
        try:
            while not lines or not lines[-1].startswith("Listening on "):
                lines.append(process.stdout.readline())
            url = lines[-1].removeprefix("Listening on ").strip()
            until_s = time.monotonic() + 30
            while requests.get(f"{url}/readyz", timeout=5).status_code != 200:
                assert time.monotonic() < until_s
                time.sleep(0.05)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "s3cret" not in "".join((*lines, *rest))


@pytest.mark.parametrize(
    ("what", "name", "application"),
    [
        ([*SHOP[:-1], "users=PEOPLE"], "users", "shop"),
        (["--topic", "shop-users-changelog=People"], "shop-users-changelog", None),
    ],
)
def test_serve_answers_until_it_is_told_to_end(
    tmp_path: Path, what: list[str], name: str, application: str | None
) -> None:
    """Rows of a topic, by the command's own server and its own client."""
    with EmbeddedBroker(topics={"shop-users-changelog": 1}) as broker:
        broker.produce([ProducedRecord(topic="shop-users-changelog", partition=0, key=b"ann", value=b"one")])
        with served(broker, tmp_path, *what, "--user", "ann:env:PW", env={"PW": "s3cret"}) as url:
            assert requests.get(f"{url}/stores", timeout=5).status_code == 401
            done = srfix("query", name, "ann", "--output", "json", "--url", url, "--user", "ann:s3cret")
            (row,) = map(json.loads, done.stdout.splitlines())
            assert (done.returncode, row["value"]["text"], row["application"]) == (0, "one", application)
            assert "Position: " in done.stderr
            assert srfix("query", name, "bob", "--url", url, "--user", "ann:s3cret").returncode == 1
            sql = {"ksql": "SELECT * FROM people;"}
            asked = requests.post(f"{url}/query", json=sql, auth=("ann", "s3cret"), timeout=5)
            assert f"The columns of {name} are not known" in asked.json()["message"]
            refused = srfix("query", name, "bob", "--url", url)
            assert (refused.returncode, "Give --token or --user." in refused.stderr) == (2, True)
            refused = srfix("query", name, "bob", "--url", url, "--user", "ann:wrong")
            assert (refused.returncode, "Check --token or --user." in refused.stderr) == (2, True)


def test_a_registry_that_falls_silent_holds_up_only_what_it_must_be_asked(tmp_path: Path) -> None:
    """Keys and values with ids that are known go on being answered; other answers name the registry."""
    with EmbeddedBroker(topics={"users": 1}) as broker, FixtureRegistry() as registry:
        for subject in ("users-key", "users-value"):
            registry.seed(subject, '"string"')
        other = registry.seed("other-value", '"long"')
        keys = [b"\x00\x00\x00\x00\x01\x06" + key for key in (b"ann", b"bob")]
        values = [b"\x00\x00\x00\x00\x01\x06one", other.to_bytes(5, "big") + b"\x02"]
        broker.produce(
            ProducedRecord(topic="users", partition=0, key=key, value=value)
            for key, value in zip(keys, values, strict=True)
        )
        formats = ("--key-columns", "ID STRING", "--value-format", "schema")
        with served(broker, tmp_path, *TOPIC, *formats, "--registry", registry.url) as url:
            known, unknown = (f"{url}/stores/users/keys/{key}" for key in ("ann", "bob"))
            assert requests.get(known, timeout=20).json()["rows"][0]["value"] == "one"
            registry.intercept(Fault(delay_s=60))
            answer = requests.get(unknown, timeout=10)
            assert (answer.status_code, registry.url in answer.json()["error"]) == (503, True)
            assert requests.get(known, timeout=2).json()["rows"][0]["value"] == "one"
