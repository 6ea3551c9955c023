"""Payloads made to hurt, by the thousand, for each format and engine: see `tests.serde.fuzz.hostile`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import randrange

import pytest

from tests.serde.fuzz.harness import PAYLOADS
from tests.serde.fuzz.hostile import ENGINES
from tests.telling import slow_but

ROOT = Path(__file__).parents[3]
_LEAST_OF_A_SORT = 0.01
_SAMPLE = 200


_IS_FEW = PAYLOADS <= 5_000
# A process takes a second to start; of many payloads, the engines are better read side by side.
_GROUPS = [
    (format_, group)
    for format_, engines in ENGINES.items()
    for group in ([tuple(engines)] if _IS_FEW else [(engine,) for engine in engines])
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_", "engines"), _GROUPS, ids=[f"{format_}: {', '.join(of_it)}" for format_, of_it in _GROUPS]
)
def test_no_payload_takes_more_than_it_may(format_: str, engines: tuple[str, ...]) -> None:
    _read(format_, engines, PAYLOADS, seed=1 if _IS_FEW else randrange(2**32))


@pytest.mark.parametrize("format_", slow_but(ENGINES, "AVRO"))
def test_nor_does_one_of_a_few(format_: str) -> None:
    _read(format_, tuple(ENGINES[format_])[:1], _SAMPLE, seed=1)


def _read(format_: str, engines: tuple[str, ...], payloads: int, *, seed: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.serde.fuzz.hostile", format_, str(payloads), str(seed), *engines],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"seed {seed}, exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-8000:]}"
    found = {one["engine"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert tuple(found) == engines
    for one in found.values():
        assert one["payloads"] >= payloads
        accepted = one["outcomes"].get("accepted", 0)
        assert accepted >= _LEAST_OF_A_SORT * sum(one["outcomes"].values()), one
