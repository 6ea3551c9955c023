"""What srfix says, word for word: the one place where it is pinned. `make golden` writes the words anew.

A change of wording is a change of `__snapshots__/test_golden.ambr`, to be read like any other; other tests know codes, commands
and key phrases. Ports, dates, versions, digests and paths of the moment are replaced by what they stand for.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from syrupy.assertion import SnapshotAssertion

from parts.damage import mirrored_topic_under_a_renamed_subject as mirrored
from parts.damage import shop
from srfix.cli.main import main
from srfix.cli.output.interface import OutputFormat, Report
from srfix.cli.output.speaking import write_report
from srfix.cli.reports.diagnosis import diagnosis_in_detail
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as incident
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.commands import CommandLine
from srfix.serde.registry.client import RegistryClient
from tests.cli.kept_demo import Parts, staged_parts
from tests.cli.on_terminal import on_terminal, picture_of
from tests.golden.worlds import OF_STORES, examination_with

ROOT: Final = Path(__file__).parents[2]
STATE: Final = ROOT / "tests/recovery/state/data/kinds/2.6.3/state"
NOBODY: Final = "http://127.0.0.1:1"
SECRET: Final = "hunter22-and-more"
PICTURE: Final = ROOT / ".ci/docs/pages/assets/diagnose.svg"
TRACE: Final = (
    "org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema for id 1\n"
    "Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Subject not found; error code: "
    f"40401\nfor topic {incident.APPLICATION}-{incident.STORE}-changelog\n"
)

_OF_THE_MOMENT: Final = (
    (r"http://127\.0\.0\.1:\d{2,}", "http://registry:8081"),
    (r"127\.0\.0\.1:\d{2,}", "broker:9092"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00| UTC)?", "2020-06-16T03:00:00+00:00"),
    (r"sha256:[0-9a-f]{64}", "sha256:DIGEST"),
    (r"\b[0-9a-f]{64}\b", "DIGEST"),
    (r"(?m)^(serde engine|platform) .*$", r"\1 HERE"),
    (r"(?m)^(up to .*?|older) +\d+$", r"\1 N"),  # of the ages of rows
    (r"\(after \d+ms in state \w+\)", "(after 1ms)"),
)


def settled(text: str, *folders: Path) -> str:
    """The text without what another run would say otherwise."""
    for folder in folders:
        text = text.replace(str(folder), "FOLDER")
    text = text.replace(str(ROOT), "CHECKOUT")
    for pattern, instead in _OF_THE_MOMENT:
        text = re.sub(pattern, instead, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


Say = Callable[..., str]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Say:
    """Runs a command in this process: its exit code, its report and what it says beside it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("srfix.recovery.census.local._POLL_S", 0.02)

    def run(*arguments: str | Path, env: Mapping[str, str] | None = None, stdin: str = "") -> str:
        with monkeypatch.context() as patched:
            patched.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            for name, given in (env or {}).items():
                patched.setenv(name, given)
            code = main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return settled(f"{out}{err}[exit {code}]", tmp_path)

    return run


@pytest.fixture(scope="module")
def shared() -> Iterator[Parts]:
    with staged_parts() as parts:
        yield parts


@pytest.fixture(scope="module")
def plan(shared: Parts, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a plan for the incident."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    assert (
        main(
            [
                "plan",
                "-o",
                str(path),
                "--bootstrap-servers",
                shared.broker.bootstrap_servers,
                "--registry",
                shared.registry.url,
            ]
        )
        == 0
    )
    return path.read_text()


@pytest.mark.parametrize("code", OF_STORES)
def test_finding(code: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    diagnosis = examination_with(code, tmp_path).diagnosis
    assert code in {each.code for finding in diagnosis.findings for each in (finding, *finding.notes)}
    stream = io.StringIO()
    write_report(
        Report(document={}, blocks=tuple(diagnosis_in_detail(diagnosis, CommandLine()))), OutputFormat.TABLE, stream
    )
    assert settled(stream.getvalue(), tmp_path) == snapshot


def test_finding_of_a_topic(say: Say, snapshot: SnapshotAssertion) -> None:
    with (
        EmbeddedBroker(topics=mirrored.TOPICS) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        mirrored.stage(broker, client)
        env = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
        shown = say("check", mirrored.TOPIC, "--reader", "connect", env=env)
    assert "SRF020" in shown
    assert shown == snapshot


@pytest.mark.core
def test_every_code_has_its_screen() -> None:
    assert sorted([*OF_STORES, "SRF020"]) == sorted(BY_CODE)


def test_a_repair_at_a_terminal(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    """Whoever changes them looks at them: red is broken, yellow breaks later or is not sure, blue is a note, green holds."""
    with staged_parts() as parts:
        screen = partial(on_terminal, env=parts.environment, cwd=tmp_path, in_colours=True)
        for name, shown in (
            ("diagnose", screen("diagnose")),
            ("plan", screen("plan", "-o", "plan.json")),
            ("plan, wider", screen("plan", "-o", "plan.json", columns=120)),
            ("verify before", screen("verify", "plan.json")),
            ("declined", screen("apply", "plan.json", typed="n\n")),
            ("apply", screen("apply", "plan.json", typed="y\n")),
            ("apply again", screen("apply", "plan.json", "--yes")),
            ("verify", screen("verify", "plan.json")),
            ("hurried", screen("verify", "plan.json", "--deadline", "0.000001")),
            ("diagnose again", screen("diagnose", "--details")),
            ("diagnose again, wider", screen("diagnose", "--details", columns=120)),
            ("error", screen("verify", "missing.json")),
            ("rollback", screen("rollback", "plan.json", typed="y\n")),
        ):
            assert f"{settled(shown.text, tmp_path)}\n[exit {shown.code}]" == snapshot(name=name)


def test_the_picture_in_the_readme_is_of_the_first_screen(request: pytest.FixtureRequest) -> None:
    with staged_parts() as parts:
        shown = on_terminal("diagnose", env=parts.environment)
        if request.config.getoption("update_snapshots"):
            PICTURE.write_text(
                picture_of(on_terminal("diagnose", env=parts.environment, in_colours=True), "srfix diagnose")
            )
    lines = re.findall(r"<text [^>]*>(.*?)</text>", PICTURE.read_text())
    drawn = html.unescape("".join(lines)).replace("\N{NO-BREAK SPACE}", " ")
    assert "".join(drawn.split()) == "".join(f"srfix diagnose {shown.text}".split())


def test_a_plan_in_detail(say: Say, shared: Parts, snapshot: SnapshotAssertion) -> None:
    assert say("plan", "--details", env=shared.environment) == snapshot


def test_a_repair_that_stops(say: Say, snapshot: SnapshotAssertion) -> None:
    body = json.dumps({"error_code": 50001, "message": "Error in the backend data store"})
    with staged_parts() as parts:
        env = parts.environment
        say("plan", "-o", "plan.json", env=env)
        with parts.registry.intercept(Fault(method="POST", path="/versions$", action=Answer(status=500, body=body))):
            assert say("apply", "plan.json", "--yes", "-R", "max.retries=0", env=env) == snapshot(name="apply")
        assert say("diagnose", env=env) == snapshot(name="diagnose")


@pytest.mark.parametrize(
    "arguments",
    [
        ("scan", "users"),
        ("scan", "users", "--application", incident.APPLICATION, "--details"),
        ("check", "users"),
        ("subjects",),
        ("doctor", "--application", incident.APPLICATION),
        ("decode", "users", "--max-records", "2"),
    ],
    ids=" ".join,
)
def test_report(arguments: tuple[str, ...], say: Say, shared: Parts, snapshot: SnapshotAssertion) -> None:
    shown = say(*arguments, env=shared.environment)
    if arguments[0] == "doctor":
        shown = re.sub(r"\d+(\.\d+)+(-\w+)?|\bv\d+\b|\d+ ms", "VERSION", shown)
        shown = re.sub(r" {2,}", "  ", shown)
        shown = re.sub(r"^pyspark .*\n", "", shown, flags=re.MULTILINE)  # after make test-spark
    assert shown == snapshot


@pytest.mark.parametrize("command", ["ls", "size"])
def test_state(command: str, say: Say, snapshot: SnapshotAssertion) -> None:
    assert say("state", command, STATE) == snapshot


@pytest.mark.parametrize("to", [(), ("--to", "3.9")], ids=["restore", "upgrade"])
def test_guard(to: tuple[str, ...], say: Say, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "topology.txt").write_text(shop.table_topology("users-store"))
    said = ("--application", "shop", "--streams-version", "2.6.3", "--reader", "connect", "--optimization", "all")
    assert say("guard", "--topology", "topology.txt", *said, *to) == snapshot


@pytest.mark.parametrize("arguments", [(), ("SRF001",), ("-",)], ids=["codes", "a code", "a trace"])
def test_explain(arguments: tuple[str, ...], say: Say, snapshot: SnapshotAssertion) -> None:
    assert say("explain", *arguments, stdin=TRACE) == snapshot


@pytest.mark.parametrize("command", ["", "state", "check"])
def test_help(command: str, say: Say, snapshot: SnapshotAssertion) -> None:
    """How help is laid out. Its words are pinned by the man pages (`tests/cli/test_reference.py`)."""
    assert say(*command.split(), "--help") == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ("diagnos",),
        ("diagnose", "--regsitry", "x"),
        ("diagnose", "--output", "tabel"),
        ("diagnose", "--max-records", "0"),
        ("diagnose", "--bootstrap-servers", "http://registry:8081"),
        ("diagnose", "-X", SECRET),
        ("diagnose", "-X", "key.deserializer=a.b.C"),
        ("diagnose", "-R", f"bearer.auth.client.secret={SECRET}"),
        ("diagnose", "-R", f"bearer.auth.token={SECRET}", "-R", f"basic.auth.user.info=ada:{SECRET}"),
        ("diagnose", "-R", f"bearer.auth.token={SECRET}", "-R", "bearer.auth.credentials.source=CUSTOM"),
        ("diagnose", "-R", f"ssl.key.password={SECRET}"),
        ("diagnose", "-R", "timeout=10"),
        ("diagnose", "--kafka-config", "missing.properties"),
        ("diagnose", "--kafka-config", "client.properties"),
        ("diagnose", "--config", "unknown-key.toml"),
        ("apply", "missing.json", "--yes"),
        ("apply", "notes.txt", "--yes"),
        ("apply", "newer.json", "--yes"),
        ("rollback", "missing.json", "--yes"),
        ("rollback", "notes.txt", "--yes"),
        ("plan", "--also", "SRF013"),
        ("explain", "SRF01"),
        ("explain", "notes.txt"),
        ("schema", "AT INT"),
        ("schema", "ID INTT"),
        ("encode", "{}", "--columns", "ID INT", "--format", "yaml"),
        ("decode", "--payload", "hex:0g", "--columns", "ID INT", "--format", "json"),
        ("guard",),
        ("guard", "--topology", "notes.txt", "--application", "shop"),
        ("state", "ls", "missing"),
        ("state", "get", "STATE", "k", "--store", "nothing"),
        ("schema-of", "diagnoses"),
    ],
    ids=" ".join,
)
def test_refusal(arguments: tuple[str, ...], say: Say, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "notes.txt").write_text("buy milk\n")
    (tmp_path / "newer.json").write_text('{"schema": "srfix.plan/99"}')
    (tmp_path / "unknown-key.toml").write_text('regsitry = "http://registry:8081"\n')
    (tmp_path / "client.properties").write_text(
        "security.protocol=SSL\nssl.truststore.location=nowhere.jks\nsasl.login.callback.handler.class=a.b.C\n"
        "sasl.password=${vault:kafka:password}\n"
    )
    shown = say(*(STATE if argument == "STATE" else argument for argument in arguments))
    assert SECRET not in shown
    assert shown == snapshot


@pytest.mark.parametrize(
    "arguments",
    [
        ("diagnose", "--registry", NOBODY, "-R", "max.retries=0"),
        ("diagnose", "--bootstrap-servers", "127.0.0.1:1", "-X", "socket.timeout.ms=1000"),
        ("diagnose", "--streams-version", "new"),
        ("diagnose", "-X", "sasl.pasword=hidden"),
        ("diagnose", "-X", "sasl.password=env:NOT_SET"),
        ("diagnose", "-X", "sasl.password=file:missing"),
        ("diagnose", "--application", "nobody"),
        ("diagnose", "--application", f"{incident.APPLICATION}x"),
        ("diagnose", "--source", f"{incident.STORE}=userss"),
        ("check", "users", "--group", "nobody"),
        ("check", "nowhere"),
        ("scan", "nowhere"),
        ("apply", "plan.json"),
        ("apply", "edited.json", "--yes"),
        ("verify", "plan.json", "--registry", NOBODY, "-R", "max.retries=0"),
    ],
    ids=" ".join,
)
def test_failure(
    arguments: tuple[str, ...], say: Say, shared: Parts, plan: str, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "plan.json").write_text(plan)
    (tmp_path / "edited.json").write_text(plan.replace('"schema_id": 1', '"schema_id": 3'))
    assert say(*arguments, env=shared.environment) == snapshot


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=401, body='{"error_code": 401, "message": "Unauthorized"}'),
        Answer(status=403, body='{"error_code": 40301, "message": "User is denied operation"}'),
        Answer(status=500, body='{"error_code": 50001, "message": "Error in the backend data store"}'),
        Answer(status=200, body="<html>Please log in</html>", content_type="text/html"),
    ],
    ids=["unknown user", "no right", "broken", "no registry"],
)
def test_answer_of_a_registry(answer: Answer, say: Say, shared: Parts, snapshot: SnapshotAssertion) -> None:
    with shared.registry.intercept(Fault(action=answer)):
        shown = say(
            "diagnose", "-R", "max.retries=0", "-R", f"basic.auth.user.info=ada:{SECRET}", env=shared.environment
        )
    assert SECRET not in shown
    assert shown == snapshot


def test_a_world_that_has_changed(say: Say, plan: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    (tmp_path / "plan.json").write_text(plan)
    with staged_parts() as parts:
        env = parts.environment
        where = ("--registry", parts.registry.url)
        parts.client.set_config(parts.staged.phantom_subject, {"compatibility": "FULL"})
        assert say("apply", "plan.json", "--yes", *where, env=env) == snapshot(name="apply")
        parts.client.set_mode(parts.staged.phantom_subject, "READONLY", force=True)
        assert say("plan", "-o", "other.json", env=env) == snapshot(name="plan")
