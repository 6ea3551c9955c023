"""Plans in other processes: pickled with every policy, and with a digest that is the same everywhere."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from typing import Final

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.errors import SecretError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.secret import BasicAuth, BearerAuth, Secret, pickled_with_secrets
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.spark.read.decisions import digest_of
from srfix.serde.spark.read.plan import ReadPlan, plan_read
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import (
    ChangelogSubject,
    MappedSubject,
    RecordSubject,
    TemplateSubject,
    TopicSubject,
)

SCHEMA = '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"name","type":"string"}]}'
AMBIGUOUS = '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"userid","type":"int"}]}'
COLUMNS = "USERID BIGINT, NAME STRING"
PAYLOAD: Final = bytes.fromhex("00000000010e06416461")

POLICIES: Final[Mapping[str, Callable[[RegistryClient], Resolver]]] = {
    "by id": ById,
    "under the topic's subject": UnderOneSubject,
    "under a record's subject": lambda client: UnderOneSubject(client, RecordSubject()),
    "under a mapped subject": lambda client: UnderOneSubject(client, MappedSubject(value={"users": "users-value"})),
    "dual": lambda client: DualSubject(client, first=ChangelogSubject("app", "store"), second=TopicSubject()),
    "dual, registering": lambda client: DualSubject(
        client, first=TemplateSubject("x-{topic}"), second=TopicSubject(), register_missing=True
    ),
}


@pytest.fixture
def registry(registry: FixtureRegistry) -> FixtureRegistry:
    for subject, text in (("users-value", SCHEMA), ("users-value", AMBIGUOUS), ("U", SCHEMA)):
        registry.seed(subject, text)
    return registry


class TestPickling:
    @pytest.mark.parametrize("policy", POLICIES)
    def test_a_plan_travels_with_every_policy(self, client: RegistryClient, policy: str) -> None:
        plan = plan_read(client, "users", COLUMNS, policy=POLICIES[policy](client), ids=[99])
        copy: ReadPlan = pickle.loads(pickle.dumps(plan))
        assert copy == plan
        assert hash(copy) == hash(plan)
        assert copy.schemas == plan.schemas
        assert copy.refusals == plan.refusals
        assert str(copy.schemas[-1].problem) == str(plan.schemas[-1].problem)
        assert copy.explain(extended=True) == plan.explain(extended=True)
        assert copy.deserializer()(PAYLOAD, SerdeContext("users")) == {"USERID": 7, "NAME": "Ada"}

    def test_a_secret_travels_as_a_reference(self, registry: FixtureRegistry, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2")
        client = RegistryClient(registry.url, auth=BasicAuth("ada", Secret.parse("env:REGISTRY_PASSWORD")))
        plan = plan_read(client, "users", COLUMNS)
        pickled = pickle.dumps(plan)
        assert b"hunter2" not in pickled
        assert pickle.loads(pickled) == plan

    def test_a_task_alone_carries_a_literal_secret(self, registry: FixtureRegistry) -> None:
        plan = plan_read(RegistryClient(registry.url, auth=BasicAuth("ada", Secret("hunter2"))), "users", COLUMNS)
        task = pickled_with_secrets(plan)
        assert b"hunter2" in task
        copy: ReadPlan = pickle.loads(task)
        assert copy == plan
        for one in (plan, copy):
            with pytest.raises(SecretError, match=r"^srfix does not pickle a literal secret"):
                pickle.dumps(one)
            assert "hunter2" not in one.explain(extended=True) + repr(one)
            assert len(one.digest) == 64

    def test_what_a_function_gives_travels_where_its_name_does_not(self) -> None:
        given = iter(["first", "hunter2"])
        auth = BasicAuth("ada", lambda: next(given))
        assert auth.credentials().headers["Authorization"].startswith("Basic ")
        copy: BasicAuth = pickle.loads(pickled_with_secrets(auth))
        assert copy.password == Secret("hunter2")
        assert pickle.loads(pickled_with_secrets(BearerAuth(lambda: "hunter2"))).token == Secret("hunter2")
        named: BasicAuth = pickle.loads(pickled_with_secrets(BasicAuth("ada", os.getcwd)))
        assert named.password is os.getcwd
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(auth)
        assert "hunter2" not in repr(auth) + repr(copy) + repr(BearerAuth(lambda: "hunter2"))


class TestDigest:
    def test_is_the_same_in_another_process(self, client: RegistryClient) -> None:
        plan = plan_read(client, "users", COLUMNS, policy=POLICIES["dual"](client))
        command = [sys.executable, "-c", "import pickle, sys; print(pickle.load(sys.stdin.buffer).digest)"]
        env = {**os.environ, "PYTHONHASHSEED": "1"}
        ran = subprocess.run(command, input=pickle.dumps(plan), env=env, capture_output=True, timeout=60, check=True)
        assert ran.stdout.decode().strip() == plan.digest

    def test_is_another_for_whatever_decides_how_a_payload_is_read(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        make = partial(plan_read, client)
        plans = [
            make("users", COLUMNS),
            make("users", COLUMNS, format=None),
            make("users", "USERID INT, NAME STRING"),
            make("users", COLUMNS, case_rule=CaseRule.EXACT, missing_columns="null"),
            make("users", COLUMNS, strict=True),
            make("users", "NAME STRING", wrap=True),
            make("users", "NAME STRING", wrap=False, missing_columns="null"),
            make("users", COLUMNS, ids=[99]),
            make("users", COLUMNS, policy=POLICIES["dual"](client)),
            make("users", COLUMNS, policy=POLICIES["dual, registering"](client)),
            make("users", COLUMNS, policy=UnderOneSubject(RegistryClient(f"{registry.url},http://other.test"))),
            make("users", COLUMNS, policy=UnderOneSubject(client)),
            make("clients", COLUMNS, subjects=["users-value"]),
            make("users", COLUMNS, role=Role.KEY, subjects=["users-value"]),
            # Of a topic without versions, whose payloads the workers look up.
            make("times", "T BIGINT"),
            make("times", "T TIMESTAMP", times="integers"),
            make("times", "T TIME", times="integers"),
            make("users", "A INT, B INT", format="delimited"),
            make("users", "A INT, B INT", format="delimited", delimiter="|"),
        ]
        registry.seed("users-value", '"string"')
        plans.append(make("users", COLUMNS))
        assert len({plan.digest for plan in plans}) == len(plans)


class _Colour(Enum):
    RED = 1


class _Circle:
    def __init__(self) -> None:
        self.itself = self


class TestDigestOf:
    def test_values_that_differ_differ(self) -> None:
        values: list[object] = [
            *(
                None,
                0,
                False,
                0.0,
                "",
                "0",
                b"",
                (),
                [],
                {},
                {"a": 1},
                {"a": "1"},
                ("a", "b"),
                ("ab",),
                (("a",), "b"),
                {"a"},
            ),
            *(_Colour.RED, _Colour, digest_of, partial(digest_of, 1), partial(digest_of, 2), _Circle()),
            *(SecretError("a"), SecretError("b")),
        ]
        assert len({digest_of(value) for value in values}) == len(values)

    def test_sets_have_no_order(self) -> None:
        one, other = {0, 8}, {8, 0}
        assert (list(one), one) == (list(other)[::-1], other)
        assert digest_of(one) == digest_of(other)

    def test_what_does_not_travel_has_no_address_in_it(self) -> None:
        assert digest_of(threading.Lock()) == digest_of(threading.Lock())
