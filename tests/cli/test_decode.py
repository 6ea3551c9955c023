"""`srfix decode` through the installed command."""

from __future__ import annotations

import base64
import datetime
import decimal
import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, Role, SerdeContext
from srfix.serde.json_values import from_json
from tests.cli.kept_demo import Parts, srfix

PHANTOM = ("--application", damage.APPLICATION, "--store", damage.STORE)
OFFSET_COMMIT, JOIN_GROUP, CREATE_TOPICS, PRODUCE = 8, 11, 19, 0


def lines(done: subprocess.CompletedProcess[str], code: int = 0) -> list[dict[str, Any]]:
    assert done.returncode == code, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert {line["schema"] for line in found} <= {"srfix.record/1"}
    return found


class TestThePolicies:
    def test_by_id_every_row_is_read_and_the_incident_hidden(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", "--output", "json")
        found = lines(done)
        assert [(line["partition"], line["value"]) for line in found] == [
            (record.partition, record.row) for record in parts.staged.records
        ]
        assert [line["key"] and line["key"]["text"] for line in found] == [r.key for r in parts.staged.records]
        assert {line["value_schema"] and line["value_schema"]["subject"] for line in found} == {None}
        assert (done.stderr, parts.registry.writes) == ("14 records read.\n", 0)

    def test_under_the_phantom_subject_each_foreign_record_is_a_line_with_its_error(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", *PHANTOM, "--output", "json")
        found = lines(done, code=1)
        failed = [line for line in found if line["errors"]]
        assert len(failed) == 12  # the two tombstones are read
        assert {error["kind"] for line in failed for error in line["errors"]} == {"SubjectVersionError"}
        [error] = failed[0]["errors"]
        assert error["message"].startswith("Error retrieving Avro value schema version for id 1: ")
        assert base64.b64decode(failed[0]["value"]["$raw"])[:5] == bytes((0, 0, 0, 0, 1))
        # What was refused once is not asked for each record again.
        assert len([r for r in parts.registry.requests if r.method == "POST"]) == 2

    def test_the_dual_reader_says_which_subject_answered(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", *PHANTOM, "--resolve", "dual-subject", "--output", "json")
        found = lines(done)
        assert {line["value_schema"]["subject"] for line in found if line["value_schema"]} == {"users-value"}
        assert "Schema id 1 is not registered under" in done.stderr


class TestWhichRecords:
    def test_from_an_offset_of_one_partition(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", "--partition", "2", "--from-offset", "3", "--output", "json")
        assert [(line["partition"], line["offset"]) for line in lines(done)] == [(2, 3), (2, 4)]

    def test_the_last_ones_are_the_newest(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", "--last", "--max-records", "2", "--partition", "1", "--output", "json")
        assert [line["offset"] for line in lines(done)] == [2, 3]

    def test_it_joins_no_group_commits_nothing_and_creates_nothing(self, parts: Parts) -> None:
        before = parts.broker.requests()
        assert parts.srfix("decode", "users").returncode == 0
        after = parts.broker.requests()
        forbidden = (OFFSET_COMMIT, JOIN_GROUP, CREATE_TOPICS, PRODUCE)
        assert [after[kind] - before[kind] for kind in forbidden] == [0, 0, 0, 0]


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("user",), "Did you mean 'users'?"),
            (("users", "--partition", "7"), "has the partitions 0 to 2; 7 is none of them"),
            (("users", "--partition", "0", "--from-offset", "99"), "There is no record from offset 99 on"),
            (("users", "--last", "--from-offset", "1"), "Give only one of --last and --from-offset"),
            (("users", "--resolve", "dual-subject"), "needs the first subject"),
            (("users", "--resolve", "by-id", "--second-subject", "a"), "--second-subject is only for"),
            (("users", "--store", "a"), "--store needs --application"),
            (("users", "--subject", "a", "--role", "both"), "--subject a does not end in -key or -value"),
            (("users", "--schema", '"int"'), "Records carry the id of their schema"),
            (("users", "--window", "time"), "--window is for keys"),
            (("users", "--columns", "A"), "expected a type"),
        ],
    )
    def test_what_makes_no_sense_is_a_sentence(self, parts: Parts, arguments: tuple[str, ...], said: str) -> None:
        done = parts.srfix("decode", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr

    def test_a_registry_out_of_reach_is_no_error_of_a_record(self, parts: Parts) -> None:
        done = parts.srfix("decode", "users", "--registry", "http://127.0.0.1:9", "-R", "max.retries=0")
        assert (done.returncode, done.stdout) == (2, "")
        assert "connection refused" in done.stderr


TYPES = (
    '{"type":"record","name":"Types","fields":['
    '{"name":"blob","type":"bytes"},'
    '{"name":"price","type":{"type":"bytes","logicalType":"decimal","precision":9,"scale":2}},'
    '{"name":"day","type":{"type":"int","logicalType":"date"}},'
    '{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}},'
    '{"name":"big","type":"long"},'
    '{"name":"ratio","type":"double"}]}'
)
ROW: dict[str, object] = {
    "blob": b"\x00\xff",
    "price": decimal.Decimal("12.30"),
    "day": datetime.date(2020, 6, 16),
    "at": datetime.datetime(2020, 6, 16, 3, 0, 0, 123000, tzinfo=datetime.UTC),
    "big": 2**63 - 1,
    "ratio": float("inf"),
}


@pytest.fixture(scope="module")
def odd_parts() -> Iterator[dict[str, str]]:
    """A topic with every kind of value, a record that is not framed, one that is cut, and one with an unknown id."""
    with (
        EmbeddedBroker(topics={"odd": 1, "empty": 1}) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        write = AvroSerializer.for_schema(client, TYPES)
        good = write(ROW, SerdeContext("odd", Role.VALUE))
        assert good is not None
        values = [good, b"{}", good[:-1], b"\x00\x00\x00\x03\xe7\x02"]
        broker.produce(
            ProducedRecord(topic="odd", partition=0, key=b"\xff", value=value, timestamp_ms=1_592_276_400_123)
            for value in values
        )
        yield {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}


class TestTheLines:
    def test_what_json_has_no_word_for_comes_back_as_it_was(self, odd_parts: dict[str, str]) -> None:
        [line] = lines(srfix("decode", "odd", "--max-records", "1", "--output", "json", env=odd_parts))
        assert from_json(line["value"]) == ROW
        assert line["value"]["price"] == {"$decimal": "12.30"}
        assert (line["timestamp"], line["time"]) == (1_592_276_400_123, "2020-06-16T03:00:00.123+00:00")
        assert line["key"] == {"$raw": "/w==", "text": None}

    def test_a_record_that_cannot_be_read_does_not_end_it(self, odd_parts: dict[str, str]) -> None:
        found = lines(srfix("decode", "odd", "--output", "json", env=odd_parts), code=1)
        assert [[error["kind"] for error in line["errors"]] for line in found] == [
            [],
            ["UnknownMagicByteError"],
            ["TruncatedBodyError"],
            ["ResolveError"],
        ]
        assert [line["value_schema"] and line["value_schema"]["id"] for line in found] == [1, None, 1, 999]

    def test_both_roles_are_decoded_on_demand(self, odd_parts: dict[str, str]) -> None:
        done = srfix("decode", "odd", "--role", "both", "--max-records", "1", "--output", "json", env=odd_parts)
        [line] = lines(done, code=1)
        assert [(error["role"], error["kind"]) for error in line["errors"]] == [("key", "UnknownMagicByteError")]
        assert from_json(line["value"]) == ROW

    @pytest.mark.parametrize("output", ["table", "json"])
    def test_an_empty_topic_is_no_error(self, odd_parts: dict[str, str], output: str) -> None:
        done = srfix("decode", "empty", "--output", output, env=odd_parts)
        assert done.returncode == 0
        assert done.stdout == ("" if output == "json" else "empty has no record in the range that you asked for.\n")
