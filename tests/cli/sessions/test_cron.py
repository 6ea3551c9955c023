"""Cron: no terminal anywhere, a small environment, files for options; what matters is the exit code and what is mailed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import jsonschema_rs
import pytest

from tests.cli.kept_demo import KeptDemo, kept_demo
from tests.cli.sessions.session import Session, block_of_readme

NOWHERE = "127.0.0.1:1"
UNWRITTEN = "Standard output cannot be written"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KeptDemo]:
    with kept_demo(tmp_path_factory.mktemp("demo")) as made:
        yield made


@pytest.fixture
def session(demo: KeptDemo, tmp_path: Path) -> Session:
    return Session(directory=tmp_path, settings={**demo.environment, "LC_ALL": "C", "TERM": ""})


def config_of_readme(demo: KeptDemo) -> str:
    """README's own file, at the demo's addresses, and without the login that the demo does not ask for."""
    text = block_of_readme('bootstrap-servers = "broker:9092"')
    text = text.replace('"broker:9092"', f'"{demo.ready["bootstrap_servers"]}"')
    text = re.sub(r"^registry = .*$", f'registry = ["{demo.ready["registry"]}"]', text, flags=re.MULTILINE)
    return re.sub(r'^"(security|sasl)\..*\n', "", text, flags=re.MULTILINE)


class TestFilesForOptions:
    def test_the_configuration_of_the_readme(self, demo: KeptDemo, session: Session) -> None:
        login = session.directory / "login"
        login.write_text("me:secret")
        text = config_of_readme(demo).replace("/run/secrets/registry", str(login))
        (session.directory / "srfix.toml").write_text(text)
        run = "srfix diagnose --config srfix.toml"
        session.runs(run, settings={}, code=2, says=("srfix-known.json", "--write-baseline"))
        session.runs(f"{run} --write-baseline srfix-known.json", settings={}, says=("1 known",))
        again = session.runs(run, settings={}, never=("SRF001", "secret"))
        assert again.out == ""

    def test_a_key_that_nothing_reads_is_refused(self, session: Session) -> None:
        (session.directory / "srfix.toml").write_text("qiet = true\n")
        session.runs("srfix diagnose --config srfix.toml", code=2, says=("line 1", "srfix.toml"))
        session.runs("srfix diagnose --config nowhere.toml", code=2, says=("nowhere.toml",))

    def test_a_file_of_a_java_client(self, demo: KeptDemo, session: Session) -> None:
        (session.directory / "client.properties").write_text(
            f"bootstrap.servers={demo.ready['bootstrap_servers']}\n"
            f"schema.registry.url={demo.ready['registry']}\n"
            "group.id=nightly\n"
            "value.deserializer=io.confluent.kafka.serializers.KafkaAvroDeserializer\n"
        )
        shown = session.runs(
            "srfix diagnose --kafka-config client.properties", settings={}, code=1, says=("SRF001, broken",)
        )
        assert "left out 2 properties" in shown.err
        assert "value.deserializer" in shown.err


class TestExitCodes:
    def test_quiet_speaks_only_of_what_fails(self, session: Session) -> None:
        session.runs("srfix diagnose --quiet", code=1, says=("SRF001",))
        session.runs("srfix diagnose --quiet --write-baseline known.json")
        known = session.runs("srfix diagnose --quiet --baseline known.json")
        assert known.out == known.err == ""

    @pytest.mark.parametrize(
        ("severity", "code"), [("broken", 1), ("breaks-on-restore", 1), ("litter", 1), ("nonsense", 2), ("''", 2)]
    )
    def test_fail_on(self, session: Session, severity: str, code: int) -> None:
        says = ("SRF001",) if code == 1 else ("--fail-on", "breaks-on-restore")
        session.runs(f"srfix diagnose --quiet --fail-on {severity}", code=code, says=says)

    @pytest.mark.parametrize("baseline", ["nowhere.json", "/dev/null", "."])
    def test_a_baseline_that_is_none(self, session: Session, baseline: str) -> None:
        session.runs(f"srfix diagnose --quiet --baseline {baseline}", code=2, says=("baseline", baseline))

    @pytest.mark.parametrize(
        ("option", "says"),
        [(f"--bootstrap-servers {NOWHERE}", "Kafka cluster"), (f"--registry http://{NOWHERE}", "registry")],
    )
    def test_what_is_down_is_never_called_healthy(self, session: Session, option: str, says: str) -> None:
        shown = session.runs(f"srfix diagnose --quiet {option}", code=2, says=(NOWHERE, says))
        assert shown.out == ""
        assert session.runs(f"srfix diagnose --quiet --output json {option}", code=2).out == ""

    def test_nobody_is_asked(self, session: Session) -> None:
        session.runs("srfix plan -o plan.json", says=("6 steps",))
        session.runs("srfix plan -o plan.json --detailed-exitcode", code=1)
        session.runs("srfix apply plan.json", code=2, says=("--yes",))
        session.runs("srfix rollback plan.json.journal.jsonl --yes", code=2, says=("plan.json.journal.jsonl",))


class TestStandardOutput:
    def test_json_is_as_its_published_schema_says(self, session: Session) -> None:
        document = json.loads(session.runs("srfix diagnose --output json --quiet", code=1).out)
        schema = json.loads(session.runs("srfix schema-of diagnosis").out)
        jsonschema_rs.validator_for(schema).validate(document)
        assert any(finding["code"] == "SRF001" for finding in document["findings"])
        with pytest.raises(jsonschema_rs.ValidationError):
            jsonschema_rs.validator_for(schema).validate({**document, "findings": "none"})

    @pytest.mark.parametrize("to", [">&-", "> /dev/full", ">&- 2>&-"])
    @pytest.mark.parametrize(
        "command", ["diagnose", "diagnose --output json", "scan users", "decode users", "subjects"]
    )
    def test_a_report_that_is_lost_is_no_success(self, session: Session, command: str, to: str) -> None:
        says = () if "2>" in to else (UNWRITTEN,)
        session.runs(f"srfix {command} {to}", code=2, says=says)

    def test_a_reader_that_has_gone_is_no_error_of_srfix(self, session: Session) -> None:
        shown = session.runs("srfix diagnose | head -0; exit ${PIPESTATUS[0]}", code=141)
        assert shown.out == ""
        assert UNWRITTEN not in shown.err

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a full disk is tried on Linux's /dev/full")
    def test_a_file_that_cannot_be_written_is_told(self, session: Session) -> None:
        session.runs("srfix plan -o /dev/full", code=2, says=("/dev/full",))
        session.runs("srfix diagnose --write-baseline /nowhere/known.json", code=2, says=("/nowhere",))
