"""`srfix scan` through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from tests.cli.kept_demo import Parts, srfix

NOTHING = Answer(status=404, body='{"error_code":404,"message":"HTTP 404 Not Found"}')


def census(done: subprocess.CompletedProcess[str], code: int = 0) -> dict[str, Any]:
    assert done.returncode == code, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    assert document["schema"] == "srfix.census/1"
    return document


def value_partitions(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document["topics"][0]["roles"]["value"]["partitions"]
    return found


def restored(parts: Parts) -> dict[tuple[int, int], int]:
    """(partition, schema id) → live keys, counted as a restore would, from what was staged."""
    latest: dict[tuple[int, str], int | None] = {}
    offsets: Counter[int] = Counter()
    for record in parts.staged.records:
        offset = offsets[record.partition]
        offsets[record.partition] += 1
        if record.key is not None and offset < parts.staged.committed[record.partition]:
            gone = record.row is None
            latest[record.partition, record.key] = None if gone else parts.staged.writer_ids[record.version - 1]
    return dict(Counter((partition, id_) for (partition, _), id_ in latest.items() if id_ is not None))


class TestTheCensus:
    def test_quiet_says_nothing_of_one_that_is_whole(self, parts: Parts) -> None:
        done = parts.srfix("scan", "users", "--quiet")
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
        assert census(parts.srfix("scan", "users", "--quiet", "--output", "json"))

    def test_it_counts_what_a_restore_of_the_application_loads(self, parts: Parts) -> None:
        done = parts.srfix("scan", "users", "--application", damage.APPLICATION, "--output", "json")
        document = census(done)
        partitions = value_partitions(document)
        assert {
            (partition["partition"], count["id"]): count["live_keys"]
            for partition in partitions
            for count in partition["ids"]
            if count["live_keys"]
        } == restored(parts)
        assert {p["partition"]: p["restore_limit"] for p in partitions} == dict(parts.staged.committed)
        assert [p["end_offset"] for p in partitions] == [5, 4, 5]
        assert [p["nulls"] for p in partitions] == [1, 0, 1]
        assert sum(count["pending_keys"] for p in partitions for count in p["ids"]) == 1
        assert (document["topics"][0]["partial"], parts.registry.writes) == (False, 0)

    def test_the_keys_are_unframed_and_one_is_null(self, parts: Parts) -> None:
        document = census(parts.srfix("scan", "users", "--role", "key", "--output", "json"))
        assert list(document["topics"][0]["roles"]) == ["key"]
        keys = document["topics"][0]["roles"]["key"]["partitions"]
        assert sum(p["unframed"] for p in keys) == 13
        assert [p["nulls"] for p in keys] == [0, 1, 0]
        assert [p["first_unframed_offset"] for p in keys] == [0, 0, 0]
        assert document["schema_ids"] == []

    @pytest.mark.parametrize("arguments", [(), ("--global",), ("--global", "--isolation", "read_committed")])
    def test_without_an_application_everything_up_to_the_end_counts(
        self, parts: Parts, arguments: tuple[str, ...]
    ) -> None:
        document = census(parts.srfix("scan", "users", *arguments, "--output", "json"))
        partitions = value_partitions(document)
        assert sum(count["live_keys"] for p in partitions for count in p["ids"]) == 8
        assert [p["restore_limit"] for p in partitions] == [5, 4, 5]
        assert document["topics"][0]["isolation"] == ("read_committed" if len(arguments) > 1 else "read_uncommitted")

    def test_a_group_without_offsets_restores_nothing(self, parts: Parts) -> None:
        document = census(parts.srfix("scan", "users", "--application", "nobody", "--output", "json"))
        assert {count["live_keys"] for p in value_partitions(document) for count in p["ids"]} == {None}
        told = parts.srfix("scan", "users", "--application", "nobody")
        assert "The group nobody has no committed offset on this topic" in told.stdout


class TestTheHolders:
    def test_a_soft_deleted_version_is_said_to_be_one(self, own_parts: Parts) -> None:
        own_parts.client.delete_version("users-value", 1)
        document = census(own_parts.srfix("scan", "users", "--output", "json"))
        assert [entry["subjects"][0]["deleted"] for entry in document["schema_ids"]] == [True, False]

    def test_a_registry_without_a_listing_is_asked_for_the_likely_subjects(self, parts: Parts) -> None:
        with parts.registry.intercept(Fault(path=r"^/schemas(\?|$)|/subjects\?", action=NOTHING)):
            document = census(parts.srfix("scan", "users", "--output", "json"))
        assert [
            (entry["subjects"][0]["subject"], entry["subjects"][0]["version"], entry["complete"])
            for entry in document["schema_ids"]
        ] == [("users-value", 1, False), ("users-value", 2, False)]

    def test_without_a_registry_it_says_that_subjects_are_not_shown(self, parts: Parts) -> None:
        done = srfix("scan", "users", "--bootstrap-servers", parts.broker.bootstrap_servers, "--output", "json")
        document = census(done)
        assert (document["schema_ids"], document["registry"]) == (None, None)
        assert "No registry was given" in done.stderr

    def test_a_registry_that_does_not_answer_costs_the_names_and_not_the_census(self, parts: Parts) -> None:
        arguments = ("--registry", "http://127.0.0.1:9", "-R", "max.retries=0", "--output", "json")
        document = census(parts.srfix("scan", "users", *arguments), code=2)
        assert document["schema_ids"] is None
        assert [skipped["what"] for skipped in document["skipped"]] == ["the subjects of the schema ids"]
        assert sum(p["records"] for p in value_partitions(document)) == 14


class TestWhatIsRefused:
    def test_a_global_table_has_no_application(self, parts: Parts) -> None:
        done = parts.srfix("scan", "users", "--global", "--application", "a")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--global and --application exclude each other" in done.stderr

    def test_global_wins_over_an_application_in_the_environment(self, parts: Parts) -> None:
        done = parts.srfix("scan", "users", "--global", "--output", "json", env={"SRFIX_APPLICATION": "a"})
        assert census(done)["topics"][0]["application"] is None
