"""`srfix serve` and `srfix query`: what they refuse, and a look-up without a server."""

from __future__ import annotations

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
import requests

from srfix.cli.commands.serve import Serving, user_and_password
from srfix.cli.commands.stores_to_serve import partitioner_of
from srfix.recovery.serving import starting
from srfix.recovery.serving.starting import Place, Tls, serve
from srfix.serde.errors import UsageError
from tests.cli.kept_demo import SRFIX, environment, srfix
from tests.recovery.state.reading.test_real_directories import DATA

STATE = DATA / "3.9.2" / "state"


def _serving(**more: object) -> Serving:
    nothing: dict[str, object] = dict.fromkeys(
        ("advertise", "group", "token", "user", "tls_certificate", "tls_key", "tls_ca")
    )
    fixed: dict[str, object] = {"listen": ("127.0.0.1", 0), "standbys": 0, "is_global": False}
    return Serving(**{**nothing, **fixed, **more})  # type: ignore[arg-type]


class TestCredentials:
    @pytest.mark.parametrize("text", ["ann:s3:cret", "env:BOTH", "ann:env:ONE"])
    def test_a_user_and_a_password_may_come_from_the_environment(
        self, text: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("BOTH", "ann:s3:cret")
        monkeypatch.setenv("ONE", "s3:cret")
        assert user_and_password(text) == ("ann", "s3:cret")

    @pytest.mark.parametrize("text", ["ann", ":secret", ""])
    def test_what_is_no_user_with_a_password_is_refused_without_showing_it(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"^--user takes USER:PASSWORD") as refused:
            user_and_password(text)
        assert "secret" not in str(refused.value)

    def test_one_kind_of_credentials_at_a_time(self) -> None:
        with pytest.raises(UsageError, match=r"^Give either --token or --user\.$"):
            _serving(token="t", user="a:b").credentials()
        assert _serving().credentials().header is None
        assert "s3cret" not in repr(_serving(token="s3cret", user="a:s3cret"))


class TestPlace:
    def test_how_others_reach_it(self) -> None:
        assert _serving(advertise=("::1", 8088)).place().advertise == "[::1]:8088"
        assert _serving(advertise=("host", 8088)).place().advertise == "host:8088"

    @pytest.mark.parametrize("more", [{"tls_certificate": "c"}, {"tls_key": "k"}, {"tls_ca": "a"}])
    def test_half_of_tls_is_refused(self, more: dict[str, object]) -> None:
        with pytest.raises(UsageError, match="--tls-certificate and --tls-key"):
            _serving(**more).place()

    def test_files_of_tls_that_cannot_be_read_are_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text("nothing")
        with pytest.raises(UsageError, match="cannot be used"):
            Tls(certificate=str(tmp_path / "none"), key=str(tmp_path / "key")).for_members()

    @pytest.mark.parametrize("host", ["0.0.0.0", "::"])
    def test_in_a_group_every_address_is_none(self, host: str) -> None:
        with pytest.raises(UsageError, match="--advertise HOST:PORT"):
            serve([], Place(host=host, port=0, group="g"), **_none())  # type: ignore[arg-type]

    @pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
    def test_it_listens_on_addresses_of_both_kinds(self, host: str) -> None:
        with starting._listening(Place(host=host, port=0, advertise=None)) as listening:
            port = listening.getsockname()[1]
            socket.create_connection((host, port), timeout=5).close()
            with pytest.raises(UsageError, match="cannot listen on"):
                starting._listening(Place(host=host, port=port, advertise=None))


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

    def test_a_server_that_is_not_there(self) -> None:
        done = srfix("query", "ts", "k", "--url", "http://127.0.0.1:9", "--token", "s3cret")
        assert done.returncode != 0
        assert "did not answer" in done.stderr
        assert "s3cret" not in done.stderr


def test_serve_answers_until_it_is_told_to_end(tmp_path: Path) -> None:
    """Rows of a topic, by the command's own server and its own client."""
    from srfix.fixtures.broker.client import ProducedRecord
    from srfix.fixtures.broker.embedded import EmbeddedBroker

    topic = "shop-users-changelog"
    with EmbeddedBroker(topics={topic: 1}) as broker:
        broker.produce([ProducedRecord(topic=topic, partition=0, key=b"ann", value=b"one")])
        command = [
            *(SRFIX, "serve", "--application", "shop", "--store", "users=PEOPLE", "--kind", "timestamped-kv"),
            *("--bootstrap-servers", broker.bootstrap_servers, "--data-dir", str(tmp_path / "rows")),
            *("--listen", "127.0.0.1:0", "--user", "ann:env:PW"),
        ]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment({"PW": "s3cret"})
        )
        with process:
            assert process.stdout is not None
            lines: list[str] = []
            while not lines or not lines[-1].startswith("Listening on "):
                lines.append(process.stdout.readline())
            url = lines[-1].removeprefix("Listening on ").strip()
            until_s = time.monotonic() + 30
            while requests.get(f"{url}/readyz", timeout=5).status_code != 200:
                assert time.monotonic() < until_s
                time.sleep(0.05)
            assert requests.get(f"{url}/stores", timeout=5).status_code == 401
            done = srfix("query", "users", "ann", "--url", url, "--user", "ann:s3cret")
            assert (done.returncode, "one" in done.stdout) == (0, True)
            assert "Position: " in done.stderr
            assert srfix("query", "users", "bob", "--url", url, "--user", "ann:s3cret").returncode == 1
            sql = {"ksql": "SELECT * FROM people;"}
            asked = requests.post(f"{url}/query", json=sql, auth=("ann", "s3cret"), timeout=5)
            assert "The columns of users are not known" in asked.json()["message"]
            process.send_signal(signal.SIGTERM)
            rest = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "s3cret" not in "".join((*lines, *rest))
