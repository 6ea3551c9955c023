"""`srfix guard` through the installed command."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.damage import shop
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import Parts, srfix
from tests.cli.test_bad_input import sentence

PHANTOM = f"{damage.APPLICATION}-{damage.STORE}-changelog-value"
SOURCE = "users-value"
SAID = ("--application", "shop", "--streams-version", "2.6.3", "--reader", "connect")


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    """A table over `users`."""
    path = tmp_path / "topology.txt"
    path.write_text(shop.table_topology("users-store"))
    return path


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """The producers' next schema."""
    document = json.loads(damage.WRITER_SCHEMA_2)
    document["fields"].append({"name": "nickname", "type": ["null", "string"], "default": None})
    path = tmp_path / "new.avsc"
    path.write_text(json.dumps(document))
    return path


def document(done: subprocess.CompletedProcess[str], code: int) -> dict[str, Any]:
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["schema"] == "srfix.guard/1"
    return found


def commands(sentences: list[str]) -> Iterator[list[str]]:
    """The srfix commands that sentences print, without the word srfix."""
    for printed in sentences:
        for text in re.findall(r"`srfix (.*?)`", printed):
            yield shlex.split(text)


class TestByNames:
    def test_what_its_baseline_knows_fails_no_more(self, topology: Path, tmp_path: Path) -> None:
        file = tmp_path / "known.json"
        asked = ("guard", "--topology", topology, *SAID, "--optimization", "all")
        assert srfix(*asked, "--write-baseline", file).returncode == 0
        known = json.loads(file.read_text())["findings"]
        assert {"SRF001"} <= {each["code"] for each in known}
        again = srfix(*asked, "--baseline", file, "--quiet")
        assert (again.returncode, again.stdout + again.stderr) == (0, "")
        upgraded = srfix(*asked, "--to", "3.9", "--baseline", file)
        assert (upgraded.returncode, "SRF004" in upgraded.stdout) == (1, True)
        assert srfix(*asked, "--fail-on", "broken").returncode == 0

    def test_what_may_break_ends_in_1(self, topology: Path) -> None:
        done = srfix("guard", "--topology", topology, *SAID, "--optimization", "all", "--output", "json")
        found = document(done, 1)
        assert [(each["code"], each["certainty"]) for each in found["foretold"]] == [("SRF001", "possible")]
        assert found["assumed"] == {
            "streams_version": "2.6.3",
            "to": None,
            "optimization": ["all"],
            "reader": "connect",
        }
        assert found["looked_at"] == {"cluster": False, "registry": False, "rows": False}
        assert found["summary"] == {"certain": 0, "possible": 1, "cannot be told from here": 0, "notes": 0}

    @pytest.mark.parametrize(("application", "judged"), [("_confluent-ksql-my_query_CTAS_T_5", 1), ("shop", 0)])
    def test_a_saved_explain_is_that_of_the_application_that_is_named(
        self, tmp_path: Path, application: str, judged: int
    ) -> None:
        (tmp_path / "t.txt").write_text(f"ID : CTAS_T_5\n\n{shop.table_topology('KsqlTopic-Reduce')}")
        said = ("--application", application, "--streams-version", "2.6.3", "--output", "json")
        done = srfix("guard", "--ksqldb-text", tmp_path / "t.txt", *said, "--optimization", "all")
        found = json.loads(done.stdout)
        assert len({each["application"] for each in found["foretold"]}) == judged, done.stdout

    @pytest.mark.parametrize("prefix", ["shop-1  | ", "[pod/shop-0/app] 2020-06-16T03:00:00.1Z "])
    def test_what_was_cut_out_of_a_collected_log_is_the_same(self, topology: Path, prefix: str) -> None:
        lines = ["INFO Topology of shop:", *topology.read_text().splitlines()]
        topology.write_text("".join(f"{prefix}{line}\n" for line in lines))
        assert srfix("guard", "--topology", topology, *SAID, "--optimization", "all").returncode == 1

    def test_what_breaks_nothing_ends_in_0(self, topology: Path) -> None:
        done = srfix("guard", "--topology", topology, *SAID, "--optimization", "none", "--output", "json")
        assert document(done, 0)["foretold"] == []
        quiet = srfix("guard", "--topology", topology, *SAID, "--optimization", "none", "--quiet")
        assert (quiet.returncode, quiet.stdout + quiet.stderr) == (0, "")

    def test_what_cannot_be_told_ends_in_2(self, topology: Path) -> None:
        done = srfix("guard", "--topology", topology, *SAID, "--output", "json")
        assert [each["certainty"] for each in document(done, 2)["foretold"]] == ["cannot be told from here"]

    def test_what_a_person_acknowledged_is_named_and_no_reason_to_fail(self, topology: Path) -> None:
        said = ("--topology", topology, *SAID, "--optimization", "all", "--ignore", "shop-*")
        done = srfix("guard", *said)
        assert done.returncode == 0
        assert "--ignore hides these findings, so they do not cause exit code 1: SRF001 shop/users-store" in done.stdout
        assert done.stderr.endswith("1 store judged; 4 things not looked at; 1 ignored.\n")
        assert [each["code"] for each in document(srfix("guard", *said, "--output", "json"), 0)["ignored"]] == [
            "SRF001"
        ]

    def test_the_environment_and_the_configuration_file_say_it_as_well(self, topology: Path, tmp_path: Path) -> None:
        config = tmp_path / "srfix.toml"
        config.write_text(f'application = "shop"\nstreams-version = "2.6.3"\n[guard]\ntopology = ["{topology}"]\n')
        env = {"SRFIX_CONFIG": str(config), "SRFIX_OPTIMIZATION": "all", "SRFIX_TO": "3.9"}
        found = document(srfix("guard", "--output", "json", env=env), 1)
        assert (found["assumed"]["to"], found["assumed"]["optimization"]) == ("3.9", ["all"])


class TestWithClusterAndRegistry:
    def test_the_incident_is_certain(self, parts: Parts, tmp_path: Path) -> None:
        topology = tmp_path / "topology.txt"
        topology.write_text(shop.table_topology(damage.STORE))
        said = ("--application", damage.APPLICATION, "--streams-version", "2.6.3", "--reader", "connect")
        found = document(parts.srfix("guard", "--topology", topology, *said, "--output", "json"), 1)
        (broken,) = [each for each in found["foretold"] if each["role"] == "value"]
        assert (broken["code"], broken["certainty"], broken["subject"]) == ("SRF001", "certain", PHANTOM)
        assert broken["schema_ids"]
        assert {each["subject"]: each["exists"] for each in found["subjects"]}[PHANTOM] is True
        assert parts.registry.writes == 0


class TestSchema:
    def test_what_it_says_to_do_first_is_all_that_it_takes(
        self, own_parts: Parts, schema: Path, tmp_path: Path
    ) -> None:
        said = ("--subject", SOURCE, "--schema", schema, "--output", "json")
        found = document(own_parts.srfix("guard", *said), 1)
        assert own_parts.registry.writes == 0
        (breaks,) = [each for each in found["foretold"] if each["severity"] != "note"]
        assert (breaks["code"], breaks["moment"], breaks["subject"]) == ("SRF001", "schema", PHANTOM)

        own_parts.registry.seed(SOURCE, schema.read_text())
        for words in commands(breaks["first"]):
            done = own_parts.srfix(*words, *(["--yes"] if words[0] == "apply" else []), cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        assert document(own_parts.srfix("guard", *said), 0)["foretold"] == []

        # A subject that an application without a group left hides a store, until the person says that it is gone.
        own_parts.registry.seed("past-store-changelog-value", schema.read_text())
        document(own_parts.srfix("guard", *said), 2)
        document(own_parts.srfix("guard", *said, "--gone", "past"), 0)


TOPOLOGY = ("--topology", "{topology}", "--application", "shop")


class TestUsage:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ((), "There is nothing to predict: give --topology FILE"),
            (("--topology", "{topology}"), "--topology needs --application ID, too"),
            (("--subject", "users-value"), "--subject and --schema go together: add --schema FILE."),
            (("--schema", "new.avsc"), "--subject and --schema go together: add --subject SUBJECT."),
            (
                ("--subject", "users-value", "--schema", "nowhere.avsc"),
                "The file 'nowhere.avsc' of --schema cannot be read",
            ),
            ((*TOPOLOGY, "--to", "next"), "--to next: expected a Kafka Streams version"),
            ((*TOPOLOGY, "--streams-version", "2"), "--streams-version 2: expected a Kafka Streams version"),
            ((*TOPOLOGY, "--store", "other"), "No store with this name is in the files and servers"),
            ((*TOPOLOGY, "--optimization", "yes"), "'yes' is not a value of topology.optimization. Give none, all"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, options: tuple[str, ...], message: str, topology: Path) -> None:
        done = srfix("guard", *(str(topology) if word == "{topology}" else word for word in options))
        assert message in sentence(done)
