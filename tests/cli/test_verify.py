"""`srfix verify` never ends in 0 for what nobody looked at: worlds of their own, through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.plans.documents import plan_digest
from srfix.serde import RegistryClient, Role, Schema
from srfix.serde.subjects.names import subject_for
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import srfix
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R

PHANTOM_KEY = PHANTOM.removesuffix("-value") + "-key"
KEY = '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'
KEY_R = '{"type":"record","name":"KsqlKey","fields":[{"name":"ID","type":["null","long"],"default":null}]}'
ONE, TWO = frame_id(1, b"\x02"), frame_id(2, b"\x02\x00")
PROTOBUF = 'syntax = "proto3"; message User { int64 user_id = 1; }'


@dataclass
class World:
    """A topic `users`, its group `shop`, its subjects; a plan once it is made."""

    directory: Path
    broker: EmbeddedBroker
    registry: FixtureRegistry
    options: tuple[str, ...] = field(default=())

    @property
    def plan_file(self) -> Path:
        return self.directory / "plan.json"

    def srfix(self, *arguments: str | Path, **elsewhere: str) -> subprocess.CompletedProcess[str]:
        there = {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}
        return srfix(*arguments, env=there | elsewhere)

    def put(self, *rows: tuple[bytes, bytes | None], topic: str = "users") -> None:
        self.broker.produce(ProducedRecord(topic=topic, partition=0, key=key, value=value) for key, value in rows)

    def commit(self, offset: int) -> None:
        self.broker.commit("shop", {("users", 0): offset})

    def plan(self, *options: str) -> dict[str, Any]:
        done = self.srfix("plan", *options, "-o", self.plan_file, "--output", "json")
        assert done.returncode == 0, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def apply(self) -> None:
        done = self.srfix("apply", self.plan_file, "--yes")
        assert done.returncode == 0, done.stderr

    def repaired(self, *options: str) -> World:
        self.plan(*options)
        self.apply()
        return self

    def verify(self, code: int, *options: str, **elsewhere: str) -> Verification:
        done = self.srfix("verify", self.plan_file, *options, "--output", "json", **elsewhere)
        assert "Traceback" not in done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        document = json.loads(done.stdout)
        assert document["verified"] is (code == 0)
        return Verification(document, done.stderr)

    def client(self) -> RegistryClient:
        return RegistryClient(self.registry.url)


@dataclass
class Verification:
    document: dict[str, Any]
    summary: str

    @property
    def problems(self) -> list[str]:
        return [check["what"] for check in self.document["checks"] if not check["ok"]]

    @property
    def confirmed(self) -> list[str]:
        return [check["what"] for check in self.document["checks"] if check["ok"]]

    @property
    def unseen(self) -> list[str]:
        return [skipped["what"] for skipped in self.document["skipped"]]


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[World]:
    """A topic of one partition, and nothing else."""
    with EmbeddedBroker(topics={"users": 1}) as broker, FixtureRegistry() as registry:
        yield World(directory=tmp_path, broker=broker, registry=registry)


@pytest.fixture
def world(bare: World) -> World:
    """W1 and W2 under the source's subject, R under the phantom one; a live row of W1, none of W2."""
    bare.registry.seed(SOURCE_SUBJECT, W1)
    bare.registry.seed(SOURCE_SUBJECT, W2)
    bare.registry.seed(PHANTOM, R)
    bare.put((b"a", ONE), (b"b", ONE))
    bare.commit(2)
    return bare


class TestWhatWasVerified:
    def test_a_repair_wider_than_what_is_live_is_verified_and_says_how_much_was_looked_at(self, world: World) -> None:
        told = world.repaired().verify(0)
        assert told.confirmed[:2] == [
            "schema id 1 is registered here",
            "schema id 2 is registered here; no live row carries id 2, so none was decoded",
        ]
        counts = {"ids_asked": 2, "rows_read": 1, "confirmed": 4, "problems": 0, "not_looked_at": 0}
        assert told.document["subjects"] == [{"subject": PHANTOM, **counts}]
        assert told.summary == "2 schema ids looked up, 1 live row read.\n4 checks passed, 0 problems.\n"

    def test_a_plan_that_was_never_applied_is_named_as_that_whatever_is_live(self, world: World) -> None:
        world.plan()
        world.put((b"a", None), (b"b", None))
        world.commit(4)
        told = world.verify(1)
        assert told.problems[0].startswith(
            "none of the schemas of the plan is registered here: the plan was not applied"
        )
        missing = [f"schema id {schema_id} is not registered here (40403)" for schema_id in (1, 2)]
        assert [what.partition(";")[0] for what in told.problems[1:]] == missing

    def test_a_plan_that_repairs_nothing_verifies_nothing(self, world: World) -> None:
        world.plan()
        document = json.loads(world.plan_file.read_text()) | {"findings": [], "actions": [], "applications": []}
        world.plan_file.write_text(json.dumps(document | {"digest": plan_digest(document)}))
        assert world.verify(2).document["checks"] == []


class TestAnotherCluster:
    @pytest.fixture
    def elsewhere(self) -> Iterator[EmbeddedBroker]:
        with EmbeddedBroker(topics={"users": 1}) as broker:
            yield broker

    @pytest.mark.parametrize(
        ("committed", "subject_of_other", "confirmed", "says"),
        [
            (None, None, 3, "shop has no committed offset there, so a restore loads nothing"),
            (1, PHANTOM, 5, "the topic's live values carry schema id 4, and the plan has no such id"),
            (2, None, 4, "the log ends at 1. The topic was deleted and created again, or this is another cluster"),
        ],
        ids=["without the group", "with other ids", "with commits beyond its end"],
    )
    def test_a_topic_of_that_name_is_not_looked_at(
        self,
        world: World,
        elsewhere: EmbeddedBroker,
        committed: int | None,
        subject_of_other: str | None,
        confirmed: int,
        says: str,
    ) -> None:
        world.repaired()
        value = ONE if subject_of_other is None else frame_id(world.registry.seed(subject_of_other, KEY), b"\x02")
        elsewhere.produce([ProducedRecord(topic="users", partition=0, key=b"a", value=value)])
        if committed is not None:
            elsewhere.commit("shop", {("users", 0): committed})
        told = world.verify(2, SRFIX_BOOTSTRAP_SERVERS=elsewhere.bootstrap_servers)
        (unseen,) = told.unseen
        assert says in unseen
        assert f"Not looked at: {unseen} (subject {PHANTOM}).\n" in told.summary
        assert told.summary.endswith(f"{confirmed} checks passed, 0 problems, 1 thing not looked at.\n")


class TestAnotherRegistry:
    def test_one_that_knows_nothing_is_a_problem(self, world: World) -> None:
        world.repaired()
        with FixtureRegistry() as other:
            told = world.verify(1, SRFIX_REGISTRY=other.url)
        assert "this is not the plan's registry" in told.problems[0]
        assert "is unknown to the registry" in told.problems[1]

    def test_the_same_ids_with_other_content_under_the_same_subject_are_a_problem(self, world: World) -> None:
        world.repaired()
        with FixtureRegistry() as other:
            for text in (W1.replace("userId", "orderId"), W2.replace("userId", "orderId"), R):
                other.seed(PHANTOM, text)
            told = world.verify(1, SRFIX_REGISTRY=other.url)
        said = [problem.partition(":")[0] for problem in told.problems]
        assert said == [f"schema id {number} is another schema in this registry than in the plan" for number in (1, 2)]

    def test_one_without_what_stood_there_before_is_not_taken_for_it(self, world: World) -> None:
        world.repaired()
        with FixtureRegistry() as other:
            for text in (W1, W2):
                other.seed(PHANTOM, text)
            told = world.verify(2, SRFIX_REGISTRY=other.url)
        assert "schema id 3 can be read. This id was registered here when the plan was made" in told.unseen[0]


class TestWhatThePlanLeftOut:
    @pytest.fixture
    def keyed(self, bare: World) -> World:
        """Keys and values with ids, none of which the phantom subjects hold."""
        assert bare.registry.seed(SOURCE_SUBJECT, W1) == 1
        key_id = bare.registry.seed(subject_for("users", Role.KEY), KEY)
        bare.registry.seed(PHANTOM, R)
        bare.registry.seed(PHANTOM_KEY, KEY_R)
        bare.put((frame_id(key_id, b"\x02"), ONE), (frame_id(key_id, b"\x04"), ONE))
        bare.commit(2)
        return bare

    @pytest.mark.parametrize("read_only", [PHANTOM_KEY, PHANTOM], ids=["keys", "values"])
    def test_a_read_only_subject_is_a_problem_until_it_is_repaired_too(self, keyed: World, read_only: str) -> None:
        with keyed.client() as client:
            client.set_mode(read_only, "READONLY")
            keyed.repaired()
            told = keyed.verify(1)
            problem, keys_miss, unreadable = sorted(told.problems)
            assert "(`srfix explain SRF005`)" in keys_miss
            assert ", and the plan left it out: the registry accepts no registration under " in problem
            assert unreadable.startswith("users partition 0 offset ")
            assert "READONLY" in problem
            assert "Do not yet restart any instance that is down" in " ".join(
                told.document["applications"][0]["advice"]
            )
            client.delete_mode(read_only)
        keyed.registry.seed(read_only, KEY if read_only == PHANTOM_KEY else W1)
        assert keyed.verify(1).problems == [keys_miss]

    def test_the_half_that_a_plan_does_not_speak_of_is_asked_too(self, keyed: World) -> None:
        """Masked when the plan was made; a schema of the source that came later is missing."""
        keyed.registry.seed(PHANTOM, W1)
        assert [finding["role"] for finding in keyed.plan()["findings"]] == ["key"]
        keyed.apply()
        newest = keyed.registry.seed(SOURCE_SUBJECT, W2)
        keyed.put((frame_id(2, b"\x06"), frame_id(newest, b"\x02\x00")))
        keyed.commit(3)
        missing, _keys_miss, unreadable = sorted(keyed.verify(1).problems)
        assert missing == f"schema id {newest} is not registered here (40403); plan and apply again"
        assert unreadable.startswith("users partition 0 offset 2 cannot be read: ")


class TestKeysThatAReaderWritesOtherwise:
    """SRF005: no registration cures it, so a repair that holds is no clean bill."""

    @pytest.fixture
    def keyed(self, bare: World) -> World:
        """The values lack W1; the keys' ids are masked, and the reader writes another one."""
        bare.registry.seed(SOURCE_SUBJECT, W1)
        key_id = bare.registry.seed(subject_for("users", Role.KEY), KEY)
        bare.registry.seed(PHANTOM, R)
        bare.put((frame_id(key_id, b"\x02"), ONE))
        bare.commit(1)
        return bare

    def test_the_values_are_repaired_and_the_keys_still_miss(self, keyed: World) -> None:
        keyed.registry.seed(PHANTOM_KEY, KEY_R)
        told = keyed.repaired().verify(1)
        (problem,) = told.problems
        assert "looks up keys under schema id 4, but the live keys of topic users carry schema id 2" in problem
        (advice, *_prevention) = told.document["applications"][0]["advice"]
        assert advice.startswith(
            "Instances of shop that are down can read the rows again. But look-ups by key miss these rows"
        )


class TestProtobuf:
    @pytest.mark.parametrize(("body", "code"), [(b"\x00\x08\x01", 0), (b"\x00\x08", 1)])
    def test_its_rows_are_read(self, bare: World, body: bytes, code: int) -> None:
        with bare.client() as client:
            schema_id = client.register(SOURCE_SUBJECT, Schema(text=PROTOBUF, schema_type="PROTOBUF"))
            older = PROTOBUF.replace("user_id", "id")
            client.register(PHANTOM, Schema(text=older, schema_type="PROTOBUF"))
        bare.put((b"a", frame_id(schema_id, body)))
        bare.commit(1)
        told = bare.repaired("--source", "users-store=users").verify(code)
        assert "schema id 1 is registered here" in told.confirmed
        assert told.unseen == []
