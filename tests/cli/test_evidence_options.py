"""What a person hands over, through the installed command: state directories, topologies, ksqlDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parts.damage import shop
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import Parts
from tests.recovery.ksqldb.server import ksqldb_server


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """A state directory of Streams up to 4.2 with the store of the incident in it."""
    task = tmp_path / "state" / damage.APPLICATION / "0_0"
    (task / "rocksdb" / damage.STORE).mkdir(parents=True)
    (task / ".checkpoint").write_text("0\n1\nusers 0 3\n")
    return tmp_path / "state"


def diagnosis(parts: Parts, *options: str | Path, code: int = 1) -> dict[str, Any]:
    done = parts.srfix("diagnose", *options, "--output", "json")
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def evidence(document: dict[str, Any], kind: str) -> list[tuple[str, str]]:
    (finding,) = [found for found in document["findings"] if found["code"] == "SRF001"]
    return [(piece["topic"], piece["weight"]) for piece in finding["evidence"] if piece["kind"] == kind]


class TestStateDir:
    def test_it_is_conclusive_evidence(self, parts: Parts, state_dir: Path) -> None:
        assert evidence(diagnosis(parts, "--state-dir", state_dir), "state-directory") == [("users", "conclusive")]

    def test_the_configuration_file_may_name_several(self, parts: Parts, state_dir: Path, tmp_path: Path) -> None:
        config = tmp_path / "srfix.toml"
        config.write_text(f'state-dir = ["{state_dir}"]\n')
        assert evidence(diagnosis(parts, "--config", config), "state-directory") == [("users", "conclusive")]

    def test_one_of_another_application_says_that_it_tells_nothing(self, parts: Parts, tmp_path: Path) -> None:
        (tmp_path / "state" / "billing" / "0_0" / "rocksdb" / "bills").mkdir(parents=True)
        for named in ((), ("--application", damage.APPLICATION)):
            done = parts.srfix("diagnose", "--state-dir", tmp_path / "state", *named)
            assert done.returncode == 1
            assert f"/state/billing has no data of the application {damage.APPLICATION}, only of billing" in done.stderr


class TestTopology:
    def test_it_is_conclusive_for_the_application_that_is_named(self, parts: Parts, tmp_path: Path) -> None:
        (tmp_path / "topology.txt").write_text(shop.table_topology(damage.STORE))
        document = diagnosis(parts, "--topology", tmp_path / "topology.txt", "--application", damage.APPLICATION)
        assert evidence(document, "topology") == [("users", "conclusive")]


class TestKsqldb:
    def test_a_server_is_asked_with_a_password_from_the_environment(self, parts: Parts) -> None:
        with ksqldb_server() as server:
            server.password = "tr0ub4dor"
            env = {"KSQLDB_PASSWORD": "tr0ub4dor"}
            options = ("--ksqldb", server.url, "--ksqldb-user", "reader:env:KSQLDB_PASSWORD")
            done = parts.srfix("diagnose", *options, "--output", "json", env=env)
            assert done.returncode == 1, done.stderr
            assert "SHOW QUERIES EXTENDED;" in server.statements
        assert "tr0ub4dor" not in done.stdout + done.stderr

    def test_one_that_does_not_answer_is_skipped_with_its_reason(self, parts: Parts) -> None:
        document = diagnosis(parts, "--ksqldb", "http://reader:tr0ub4dor@127.0.0.1:1")
        (skipped,) = [s for s in document["skipped"] if s["what"] == "ksqlDB (http://127.0.0.1:1)"]
        assert "no connection" in skipped["reason"]
        assert "tr0ub4dor" not in json.dumps(document)

    def test_the_bounds_of_its_answers_can_be_changed(self, parts: Parts) -> None:
        with ksqldb_server() as server:
            document = diagnosis(parts, "--ksqldb", server.url, "--ksqldb-config", "http.answer.max.bytes=10")
            (skipped,) = [s for s in document["skipped"] if s["what"] == f"ksqlDB ({server.url})"]
            assert "has more than 10 bytes after decompression" in skipped["reason"]
            done = parts.srfix("diagnose", "--ksqldb", server.url, "--ksqldb-config", "max.bytes=10")
        assert (done.returncode, done.stdout) == (2, "")
        assert "Unknown property max.bytes of the ksqlDB client." in done.stderr


class TestNoAutoRegister:
    """Through the option, the environment and the file, to the finding and the commands that it prints."""

    @pytest.fixture
    def asked(self, parts: Parts, tmp_path: Path) -> tuple[str | Path, ...]:
        """A store of which no subject stands, told by its topology."""
        printed = tmp_path / "topology.txt"
        printed.write_text(shop.table_topology("other-store"))
        return ("--topology", printed, "--application", damage.APPLICATION, "--store", "other-store")

    def test_a_put_that_is_refused_is_found(self, parts: Parts, asked: tuple[str | Path, ...]) -> None:
        found = diagnosis(parts, *asked, "--no-auto-register")["findings"]
        (refused,) = [finding for finding in found if finding["code"] == "SRF015"]
        assert "(--no-auto-register) (40401)" in refused["explanation"]
        (incident,) = [finding for finding in found if finding["code"] == "SRF001"]
        assert "--no-auto-register" in incident["next"]

    def test_without_it_nothing_of_the_kind_is_said(self, parts: Parts, asked: tuple[str | Path, ...]) -> None:
        assert "SRF015" not in {finding["code"] for finding in diagnosis(parts, *asked)["findings"]}

    def test_the_configuration_file_may_say_it(
        self, parts: Parts, asked: tuple[str | Path, ...], tmp_path: Path
    ) -> None:
        config = tmp_path / "srfix.toml"
        config.write_text("[diagnose]\nno-auto-register = true\n")
        assert "SRF015" in {f["code"] for f in diagnosis(parts, "--config", config, *asked)["findings"]}
