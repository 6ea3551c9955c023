"""Four persons' sessions at 80 columns, as transcripts: what each types, and what the screen must and must not say."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.kept_demo import Parts, srfix, staged_parts
from tests.cli.on_terminal import on_terminal

TRACE = """org.apache.kafka.common.errors.SerializationException: Error retrieving Avro schema for id 1
Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Subject not found.; \
error code: 40401
"""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command and its screen."""

    run: str
    code: int
    says: Sequence[str] = ()
    never: Sequence[str] = ("Traceback",)
    height: int | None = None
    """The most lines that it may take."""
    typed: str | None = None
    """What the person answers at the terminal; None if the step is not asked anything."""
    stdin: str | None = None
    """What is piped in; the command has no terminal then."""


NODE_AT_3_AM = (
    Step(run="explain -", stdin=TRACE, code=0, says=("SRF001", "srfix diagnose")),
    Step(run="diagnose", code=1, says=("SRF001, broken", "srfix plan -o plan.json", "1 finding"), height=25),
    Step(run="plan -o plan.json", code=0, says=("6 steps", "srfix apply plan.json")),
    Step(run="apply plan.json", typed="n\n", code=130, says=("Nothing was written.",), height=15),
    Step(run="apply plan.json", typed="y\n", code=0, says=("srfix verify plan.json",)),
    Step(run="verify plan.json", code=0),
    Step(run="diagnose", code=0, says=("0 findings",), never=("SRF001, broken",)),
    Step(run="rollback plan.json", typed="n\n", code=130, says=("Nothing was written.",)),
    Step(run="rollback plan.json", stdin="", code=2, says=("--yes",)),
)

DATA_ENGINEER = (
    Step(run="scan USERS", code=2, says=("There is no topic 'USERS'",)),
    Step(run="scan users --engine local", code=0, says=("users: 14 records in 3 partitions",), never=("(partial)",)),
    Step(run="subjects", code=0, says=("srfix diagnose",)),
    Step(run="decode users --max-records 2", code=0),
    Step(run="decode users --max-records 2 --columns 'NOT_THERE NONSENSE'", code=2, says=("NONSENSE",)),
)

CONFLUENT_KAFKA_USER = (
    Step(run="encod", code=2, says=("encode",)),
    Step(run="encode", code=2),
    Step(run="decode nowhere", code=2, says=("nowhere",)),
)

CRON = (
    Step(run="diagnose --quiet", stdin="", code=1, says=("SRF001",)),
    Step(run="diagnose --quiet --write-baseline known.json", stdin="", code=0),
    Step(run="diagnose --quiet --baseline known.json", stdin="", code=0, never=("Traceback", "SRF001"), height=0),
    Step(run="diagnose --baseline nowhere.json", stdin="", code=2, says=("nowhere.json",)),
    Step(run="diagnose --output json", stdin="", code=1, says=('"SRF001"',)),
    Step(run="schema-of diagnosis", stdin="", code=0, says=('"$schema"',)),
    Step(run="diagnose --fail-on nonsense", stdin="", code=2, says=("--fail-on",)),
)


@pytest.mark.parametrize(
    "session",
    [
        pytest.param(NODE_AT_3_AM, id="node-at-3-am"),
        pytest.param(CONFLUENT_KAFKA_USER, id="confluent-kafka-user"),
        pytest.param(DATA_ENGINEER, id="data-engineer"),
        pytest.param(CRON, id="cron"),
    ],
)
def test_a_persons_session(session: Sequence[Step], tmp_path: Path) -> None:
    with staged_parts() as parts:
        for step in session:
            check(step, parts, tmp_path)


def check(step: Step, parts: Parts, directory: Path) -> None:
    """Runs it, and reads its screen."""
    arguments = shlex.split(step.run)
    if step.stdin is not None:
        env = {**parts.environment, "COLUMNS": "80"}
        done = srfix(*arguments, env=env, cwd=directory, stdin=step.stdin)
        code, text, height = done.returncode, done.stdout + done.stderr, len(done.stdout.splitlines())
    else:
        screen = on_terminal(*arguments, env=parts.environment, cwd=directory, typed=step.typed or "")
        code, text, height = screen.code, screen.text, screen.height
    seen = f"$ srfix {step.run}\n{text}"
    words = " ".join(text.split())
    assert code == step.code, seen
    for said in step.says:
        assert said in words, seen
    for unsaid in step.never:
        assert unsaid not in words, seen
    assert ("[y/N]" in text) == (step.typed is not None), seen
    assert step.height is None or height <= step.height, seen
