"""Payloads that ask for too much, each read in a process of its own: it must live, and take next to nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.serde.fuzz.resources import BOMBS, CASES

ROOT = Path(__file__).parents[3]
_ROWS = {
    "950 JSON objects for a STRING",
    "two hundred decimals of 4 kB",
    "a number of a billion digits for a BIGINT",
    "a number of a billion digits for a DOUBLE",
    "a number of a billion digits for a STRING",
    "a number of a billion digits for JSON_SR",
    "a number of a billion digits in an object for a STRING",
}
"""What Jackson makes a row of, too."""
_REFUSED_BOMBS = {"PayloadBoundError", "SchemaError", "CoercionError", "DecodeError"}
_LEAST_BOMB = 8 << 20
"""Bytes that any payload may take where values are made of it (65,536 of them)."""
_BYTES_PER_BYTE = 320
"""Bytes that may be taken for each byte of a payload: eight values of forty."""
_LEAST_PEAK = 1 << 20
"""Bytes that any payload may take."""


_SAMPLE = (
    "a string of 2 GB for a column",
    "2^62 empty records for nobody",
    "a tree of a million levels",
    "a million JSON arrays for a STRING",
    "a number of a billion digits for a BIGINT",
    "a million digits",
    "a decimal of 900 kB, maybe null",
    "records that double fifteen times, of nulls",
    "messages of a million levels",
    "twenty thousand empty messages in a thousand columns",
)


def _marked(names: Iterable[str]) -> list[object]:
    return [name if name in _SAMPLE else pytest.param(name, marks=pytest.mark.slow) for name in names]


def _read(name: str) -> tuple[Mapping[str, Any], str]:
    """What came of a case; and all that the processes said on stderr."""
    cases, said = _read_all(_SAMPLE if name in _SAMPLE else tuple({**CASES, **BOMBS}.keys() - set(_SAMPLE)))
    return cases[name], said


@cache
def _read_all(names: tuple[str, ...]) -> tuple[Mapping[str, Mapping[str, Any]], str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.serde.fuzz.resources", *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["name"]: one for one in found}, done.stderr


@pytest.mark.parametrize("name", _marked(CASES))
def test_a_payload_that_asks_for_too_much_gets_nothing(name: str) -> None:
    found, said = _read(name)
    assert "ended" not in found, f"{name} ended the process ({found['ended']}): {said[-2000:]}"
    if name in _ROWS:
        assert found["outcome"].startswith("row "), found
    else:
        assert found["outcome"].endswith("Error"), found
    assert found["peak"] < max(_LEAST_PEAK, 4 * found["payload"]), found
    assert found["seconds"] < 10, found
    assert found["message"] < 2_000, found


@pytest.mark.parametrize("name", _marked(BOMBS))
def test_a_payload_that_multiplies_makes_no_more_than_it_may(name: str) -> None:
    found, said = _read(name)
    assert "ended" not in found, f"{name} ended the process ({found['ended']}): {said[-2000:]}"
    assert found["outcome"] in _REFUSED_BOMBS or name in _ROWS, found
    assert found["peak"] < _LEAST_BOMB + _BYTES_PER_BYTE * found["payload"], found
    assert found["seconds"] < 10, found
    assert found["message"] < 2_000, found


def test_every_case_that_is_named_is_there() -> None:
    assert (CASES | BOMBS).keys() >= {*_ROWS, *_SAMPLE}
