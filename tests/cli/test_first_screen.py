"""The first screen: it fits, says nothing twice, breaks no name, and its commands run as they are printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.eight_stores import IDS, PARTITIONS, STORES, World, eight_stores
from tests.cli.kept_demo import SRFIX, Parts, environment, srfix
from tests.cli.on_terminal import Screen, on_terminal


@pytest.fixture(scope="module")
def eight() -> Iterator[World]:
    with eight_stores() as world:
        yield world


def nothing_stands_twice(screen: Screen) -> None:
    told = [line.strip() for line in screen.lines if len(line.strip()) > 30 and not line.startswith("  ")]
    assert sorted(set(told)) == sorted(told)


class TestOneStore:
    @pytest.fixture
    def screen(self, parts: Parts) -> Screen:
        return on_terminal("diagnose", env=parts.environment)

    def test_it_fits_25_lines_of_80_columns_with_its_command(self, screen: Screen) -> None:
        assert screen.code == 1
        assert screen.height <= 25
        assert max(map(len, screen.lines)) <= 80
        assert screen.commands() == ["srfix plan -o plan.json"]

    def test_the_verdict_stands_first(self, screen: Screen) -> None:
        assert screen.lines[0] == f"SRF001, broken: {damage.APPLICATION} / {damage.STORE}"

    def test_it_says_what_a_person_decides_by(self, screen: Screen, parts: Parts) -> None:
        assert parts.staged.phantom_subject in screen.text.split()
        for words in (
            "source users (strong evidence)",
            "ids 1, 2: 7 live keys, 1 not yet committed; partitions 0-2",
            "data intact as far as looked at: 6 of 7 live rows read, all decode",
            "repair 6 writes; what the registry would refuse is planned around (SRF012)",
            "do not wipe a state directory, restart anything or TERMINATE or DROP a query.",
        ):
            assert words in screen.words
        assert screen.lines[-1] == "1 finding, 1 store examined, 3 things not looked at."

    def test_nothing_is_said_twice(self, screen: Screen, parts: Parts) -> None:
        nothing_stands_twice(screen)
        assert screen.text.count(parts.staged.phantom_subject) == 1
        assert screen.text.count("SRF012") == 1

    def test_the_details_have_the_rest(self, parts: Parts, screen: Screen) -> None:
        whole = on_terminal("diagnose", "--details", env=parts.environment)
        for words in ("Evidence", "Seen of the application", "What to do:", "On its repair (SRF012)", "partition"):
            assert words in whole.text
            assert words not in screen.text.replace("partitions", "")

    @pytest.mark.parametrize("columns", [60, 80, 120])
    @pytest.mark.parametrize("details", [(), ("--details",)])
    def test_no_name_is_broken(self, parts: Parts, columns: int, details: tuple[str, ...]) -> None:
        screen = on_terminal("diagnose", *details, env=parts.environment, columns=columns)
        assert parts.staged.phantom_subject in screen.text
        if columns >= 80:
            words = screen.text.split()
            assert not [word for word in words if word.startswith("_confluent") and len(word) < 30]


@pytest.fixture(scope="module")
def first_screen(eight: World) -> Screen:
    return on_terminal("diagnose", env=eight.environment)


class TestEightStores:
    def test_it_fits_80_lines(self, first_screen: Screen) -> None:
        screen = first_screen
        assert screen.code == 1
        assert screen.height <= 80
        assert screen.lines[0].startswith("SRF001, broken, 8 findings: ")
        assert screen.lines[-1].startswith("8 findings, 8 stores examined")

    def test_each_store_has_its_ids_partitions_and_writes(self, first_screen: Screen, eight: World) -> None:
        screen = first_screen
        assert not [phantom for phantom in eight.phantoms if phantom not in screen.text.split()]
        for number in range(STORES):
            ids = ", ".join(str(number * IDS + n + 1 + number) for n in range(IDS))
            assert f"ids {ids}: 192 live keys; partitions 0-47" in screen.words
        assert screen.text.count("10 writes; what the registry would refuse is planned around (SRF012)") == STORES
        assert "To repair it, in 80 writes" in screen.words

    def test_the_json_is_short_and_says_as_much(self, eight: World) -> None:
        done = srfix("diagnose", "--output", "json", env=eight.environment)
        assert len(done.stdout.splitlines()) < 2_500
        document = json.loads(done.stdout)
        assert document["schema"] == "srfix.diagnosis/2"
        assert document["summary"]["findings"] == STORES
        assert document["summary"]["notes"] == 0
        assert len(document["findings"]) == STORES
        for finding in document["findings"]:
            assert [note["code"] for note in finding["notes"]] == ["SRF012"]
            for fault in finding["schema_ids"]:
                (place,) = fault["partitions"]
                assert place["partitions"] == list(range(PARTITIONS))
                assert (place["live_keys"], place["pending_keys"]) == (1, 0)

    def test_the_prompt_of_apply_fits_15_lines(self, eight: World, tmp_path: Path) -> None:
        planned = srfix("plan", "-o", "plan.json", env=eight.environment, cwd=tmp_path)
        assert planned.returncode == 0, planned.stderr
        before = eight.registry.dump()
        screen = on_terminal("apply", "plan.json", env=eight.environment, cwd=tmp_path, typed="n\n")
        assert screen.code == 130
        assert screen.height <= 15
        assert not [phantom for phantom in eight.phantoms if phantom not in screen.text.split()]
        assert screen.lines[-1] == "Nothing was written."
        assert eight.registry.dump() == before


class TestWhatCannotBeRepairedNow:
    def test_it_says_why_with_the_finding(self, own_parts: Parts) -> None:
        answer = requests.put(
            f"{own_parts.registry.url}/mode/{own_parts.staged.phantom_subject}", json={"mode": "READONLY"}, timeout=10
        )
        assert answer.ok, answer.text
        screen = on_terminal("diagnose", env=own_parts.environment)
        assert "repair not as things stand" in screen.words
        assert re.search(r"SRF012 As things stand the registry would refuse the repair of .* READONLY", screen.words)
        assert "First settle what SRF012 says" in screen.words
        assert screen.height <= 30

    def test_traces_of_an_interrupted_repair_come_before_a_new_plan(self, own_parts: Parts) -> None:
        """A plan that is made now takes NONE for what is to be left."""
        answer = requests.put(
            f"{own_parts.registry.url}/config/{own_parts.staged.phantom_subject}",
            json={"compatibility": "NONE"},
            timeout=10,
        )
        assert answer.ok, answer.text
        screen = on_terminal("diagnose", env=own_parts.environment)
        assert "may have been interrupted: its own compatibility is NONE" in screen.words
        assert "do not plan anew before" in screen.words
        assert "First settle what SRF012 says; then plan the repair and read the plan:" in screen.words
        assert "To repair it" not in screen.words


class TestDeclined:
    def test_a_rollback_says_so_too(self, own_parts: Parts, tmp_path: Path) -> None:
        for arguments in (("plan", "-o", "p.json"), ("apply", "p.json", "--yes")):
            assert own_parts.srfix(*arguments, cwd=tmp_path).returncode == 0
        repaired = own_parts.registry.dump()
        screen = on_terminal("rollback", "p.json", env=own_parts.environment, cwd=tmp_path, typed="n\n")
        assert (screen.code, screen.lines[-1]) == (130, "Nothing was written.")
        assert own_parts.registry.dump() == repaired


class TestTheCommands:
    def test_they_run_as_they_are_printed_at_80_columns(self, parts: Parts, tmp_path: Path) -> None:
        """Given options are repeated, and make the command longer than a line."""
        where = [
            *("--bootstrap-servers", parts.broker.bootstrap_servers, "--registry", parts.registry.url),
            *("--application", damage.APPLICATION, "--store", damage.STORE, "--source", f"{damage.STORE}=users"),
        ]
        screen = on_terminal("diagnose", *where)
        [plan] = screen.commands()
        assert plan.count("\\\n") >= 2
        assert max(map(len, plan.splitlines())) <= 80
        path = f"{Path(SRFIX).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", plan],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=environment({"PATH": path}),
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "plan.json").exists()


class TestWhatIsRefused:
    def test_it_is_folded_between_words_and_its_commands_can_be_copied(self) -> None:
        screen = on_terminal("explain", "SRF01")
        assert screen.code == 2
        assert max(map(len, screen.lines)) <= 80
        assert screen.words.startswith("srfix: 'SRF01' is neither a finding code (SRF001 to SRF020) nor a file.")
        assert screen.commands() == ["srfix explain", "srfix explain -"]

    def test_a_name_is_whole_and_each_problem_begins_a_line(self, tmp_path: Path) -> None:
        store = f"/nowhere/{'a' * 70}.jks"
        (tmp_path / "client.properties").write_text(
            f"bootstrap.servers=broker:9092\nsecurity.protocol=SSL\nssl.truststore.location={store}\n"
            "sasl.client.callback.handler.class=com.example.Handler\n"
        )
        screen = on_terminal("diagnose", "--kafka-config", "client.properties", cwd=tmp_path)
        assert screen.code == 2
        assert screen.lines[0] == "srfix: The configuration has 2 things that srfix cannot take:"
        assert sum(line.startswith("- ") for line in screen.lines) == 2
        assert [line for line in screen.lines if store in line]
        assert not [line for line in screen.lines if len(line) > 80 and store not in line]

    def test_elsewhere_it_is_one_line(self) -> None:
        assert len(srfix("explain", "SRF01").stderr.splitlines()) == 1
