"""Screens fit: of eight broken stores at a terminal, and of any width; what they say stands in `tests/golden`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.eight_stores import PARTITIONS, STORES, World, eight_stores
from tests.cli.kept_demo import Parts, srfix
from tests.cli.on_terminal import Screen, on_terminal


@pytest.fixture(scope="module")
def eight() -> Iterator[World]:
    with eight_stores() as world:
        yield world


def has_no_broken_name(screen: Screen) -> bool:
    words = screen.text.replace("'", " ").split()
    return not [word for word in words if word.startswith("_confluent") and "CSAS_J_" not in word]


@pytest.mark.parametrize("columns", [60, 80])
def test_no_name_is_broken_and_the_rest_is_in_the_details(parts: Parts, columns: int) -> None:
    short = on_terminal("diagnose", env=parts.environment, columns=columns)
    whole = on_terminal("diagnose", "--details", env=parts.environment, columns=columns)
    assert short.height <= (25 if columns == 80 else 40)
    for screen in (short, whole):
        assert parts.staged.phantom_subject in screen.text
        assert columns < 80 or has_no_broken_name(screen)
    for words in ("Evidence", "What srfix sees of the application", "What to do:", "About the repair (SRF012)"):
        assert words in whole.text
        assert words not in short.text


@pytest.mark.parametrize("columns", [80])
def test_what_is_refused_is_folded_between_words_and_no_name_is_broken(tmp_path: Path, columns: int) -> None:
    store = f"/nowhere/{'a' * 70}.jks"
    (tmp_path / "client.properties").write_text(
        f"bootstrap.servers=broker:9092\nsecurity.protocol=SSL\nssl.truststore.location={store}\n"
        "sasl.client.callback.handler.class=com.example.Handler\n"
    )
    screen = on_terminal("diagnose", "--kafka-config", "client.properties", cwd=tmp_path, columns=columns)
    assert screen.code == 2
    assert sum(line.startswith("- ") for line in screen.lines) == 2
    assert [line for line in screen.lines if store in line]
    assert not [line for line in screen.lines if len(line) > columns and store not in line]


def test_the_first_screen_and_the_document_of_eight_stores_are_short(eight: World) -> None:
    screen = on_terminal("diagnose", env=eight.environment)
    assert (screen.code, screen.height <= 80, has_no_broken_name(screen)) == (1, True, True)
    assert not [phantom for phantom in eight.phantoms if phantom not in screen.text.split()]
    done = srfix("diagnose", "--output", "json", env=eight.environment)
    assert len(done.stdout.splitlines()) < 2_500
    document = json.loads(done.stdout)
    assert (document["summary"]["findings"], document["summary"]["notes"]) == (STORES, 0)
    for finding in document["findings"]:
        assert [note["code"] for note in finding["notes"]] == ["SRF012"]
        for fault in finding["schema_ids"]:
            (place,) = fault["partitions"]
            assert (place["partitions"], place["live_keys"]) == (list(range(PARTITIONS)), 1)


@pytest.mark.slow
def test_each_screen_of_their_repair_fits_80_lines(eight: World, tmp_path: Path) -> None:
    def screen(*arguments: str, typed: str = "") -> Screen:
        return on_terminal(*arguments, env=eight.environment, cwd=tmp_path, typed=typed)

    before = eight.registry.dump()
    planned, missing = screen("plan", "-o", "plan.json"), screen("verify", "plan.json")
    declined, applied = screen("apply", "plan.json", typed="n\n"), screen("apply", "plan.json", typed="y\n")
    verified, hurried = screen("verify", "plan.json"), screen("verify", "plan.json", "--max-records", "100")
    undone = screen("rollback", "plan.json", "--yes")
    assert eight.registry.dump() == before
    assert planned.commands() == ["srfix apply plan.json"]
    assert [planned.text.count(phantom) for phantom in eight.phantoms] == [1] * STORES
    assert (declined.code, declined.height <= 15, declined.lines[-1]) == (130, True, "Nothing was written.")
    assert (missing.code, applied.code, verified.code, hurried.code, undone.code) == (1, 0, 0, 2, 0)
    assert verified.lines[0] == "Verified: 32 schema ids looked up, 1,536 live rows read"
    for shown in (planned, missing, verified, hurried):
        assert shown.height <= 80
        assert has_no_broken_name(shown)
