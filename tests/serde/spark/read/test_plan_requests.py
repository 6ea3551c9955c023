"""How a plan's questions are asked: side by side, a few at a time, each once, and none after one that failed."""

from __future__ import annotations

import json
import threading
from typing import Final, Literal

import pytest

from srfix.serde import RegistryError, Schema, TopicSubject, UnderOneSubject
from srfix.serde.bounds import PLANNING_REQUESTS
from srfix.serde.schemas.models import RegisteredSchema, SchemaVersion
from srfix.serde.spark import plan_read
from srfix.serde.spark.read.decisions import PlanLookups, side_by_side
from tests.serde.avro_schemas import record
from tests.serde.fakes import MemoryRegistry

DEADLINE_S: Final = 30.0
COLUMNS: Final = "A INT"


class HoldingRegistry(MemoryRegistry):
    """Answers nobody before as many ask as are to ask at a time."""

    def __init__(self, together: int) -> None:
        super().__init__()
        self.most = 0
        self._now = 0
        self._lock = threading.Lock()
        self._barrier = threading.Barrier(together)

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        self.calls.append(("versions", subject))
        return tuple(range(1, len(self.subjects.get(subject, [])) + 1))

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        self._hold()
        return super().version(subject, version, deleted=deleted)

    def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
        self._hold()
        return super().lookup(subject, schema, deleted=deleted)

    def _hold(self) -> None:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        self._barrier.wait(DEADLINE_S)
        with self._lock:
            self._now -= 1


def _schema(number: int) -> str:
    return json.dumps(record(f"R{number}", A="int"), separators=(",", ":"))


@pytest.mark.parametrize("has_policy", [False, True])
def test_versions_are_asked_side_by_side_and_each_once(has_policy: bool) -> None:
    registry = HoldingRegistry(PLANNING_REQUESTS)
    count = 3 * PLANNING_REQUESTS
    for number in range(count):
        registry.seed("users-value", _schema(number))
    policy = UnderOneSubject(registry, TopicSubject()) if has_policy else None
    plan = plan_read(registry, "users", COLUMNS, policy=policy)
    assert [schema.schema_id for schema in plan.schemas] == list(range(1, count + 1))
    assert [found.version for found in plan.listed] == list(range(1, count + 1))
    assert registry.most == PLANNING_REQUESTS
    assert (registry.count("versions"), registry.count("version")) == (1, count)
    assert registry.count("lookup") == (count if has_policy else 0)


class SlowRegistry(MemoryRegistry):
    """Answers an id when somebody else had the time to ask for it too."""

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        return ()

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        answer = super().schema_by_id(schema_id, subject=subject)
        threading.Event().wait(0.05)
        return answer


def test_who_asks_the_same_waits_for_the_answer() -> None:
    registry = SlowRegistry()
    registry.seed("x", _schema(1))
    asked = PlanLookups(registry)
    answers = side_by_side(lambda _: asked.schema_by_id(1), range(8))
    assert len(set(answers)) == 1 == registry.count("schema_by_id")


def test_after_an_error_no_more_is_asked() -> None:
    begun: list[int] = []
    failed = threading.Event()

    def ask(number: int) -> int:
        begun.append(number)
        if number == 0:
            failed.set()
            raise RegistryError("Nobody answers.")
        assert failed.wait(DEADLINE_S)
        threading.Event().wait(0.05)
        return number

    with pytest.raises(RegistryError, match=r"^Nobody answers\.$"):
        side_by_side(ask, range(100 * PLANNING_REQUESTS))
    assert len(begun) < 50 * PLANNING_REQUESTS
