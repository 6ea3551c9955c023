"""Whole topics with something hostile in them: one bad record hides no good one. Kinds 1, 2, 7 and 10 of issue 13."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from tests.hostile.attack import Done, judge
from tests.hostile.worlds import World, frame, long, user, world
from tests.telling import slow_but

NOT_FOUND = Answer(status=404, body='{"error_code":404,"message":"HTTP 404 Not Found"}')
"""What Java answers where the path holds no int of 32 bits with a sign."""
LARGE = (2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1, 0xDEADBEEF)


@pytest.fixture
def there() -> Iterator[World]:
    with world() as made:
        beyond = r"/schemas/ids/(2147483(64[89]|6[5-9]\d|[7-9]\d\d)|214748[4-9]\d{3}|2[2-9]\d{8}|[3-9]\d{9})"
        made.registry.intercept(Fault(path=beyond, action=NOT_FOUND))
        yield made


def good_rows(done: Done) -> list[Any]:
    return [line["value"] for line in done.lines if "value" not in {error["role"] for error in line["errors"]}]


def ids(done: Done, role: str = "value") -> dict[int, int]:
    """Schema id → records, of a scan."""
    return {
        each["id"]: each["records"]
        for topic in done.document["topics"]
        for partition in topic["roles"][role]["partitions"]
        for each in partition["ids"]
    }


def everywhere(there: World, name: str, source: tuple[str, str], *more: str) -> list[Done]:
    """All commands that read a topic, each judged."""
    return [
        judge(there.attack(*arguments, "--output", output, *more))
        for output in ("json", "table")
        for arguments in (
            ("diagnose", "--application", name, *source),
            ("diagnose", "--application", name, *source, "--decode-values"),
            ("scan", f"{name}-topic"),
            ("decode", f"{name}-topic", "--max-records", "100000", "--role", "both"),
        )
    ]


GUIDS = {
    **{f"{length}": b"\x01" * length for length in (0, 1, 16, 17, 18)},
    "zeros": b"\x00" * 17,
    "an id": b"\x00\x00\x00\x00\x01",
    "ff": b"\xff" * 17,
    "300,000": b"g" * 300_000,
    "null": None,
}


class TestIds:
    @pytest.mark.parametrize("schema_id", slow_but([0, 2**31 - 1, *LARGE], 2**31))
    def test_one_that_no_registry_gives_out_is_one_bad_row(self, there: World, schema_id: int) -> None:
        source = there.store("shop", [user(1), frame(schema_id, b"\x0e\x06Ada"), user(1, 8)])
        there.registry.forget_requests()
        found, deeper, scanned, decoded, *_ = everywhere(there, "shop", source)
        for done in (found, deeper):
            assert done.returncode == 1, done.stderr
            assert "SRF001" in {finding["code"] for finding in done.document["findings"]}
        assert ids(scanned)[1] == 2
        assert scanned.returncode in (0, 2)
        assert [row["userId"] for row in good_rows(decoded)] == [7, 8]
        assert decoded.returncode == 1
        if schema_id >= 2**31:
            assert not any(str(schema_id) in seen.path for seen in there.registry.requests)
            assert schema_id not in ids(scanned)

    def test_keys_that_look_like_ids(self, there: World) -> None:
        keys = [
            *(struct.pack(">q", number) for number in (0, 1, -1, 2**40, 2**55 - 1, 2**31 << 24, 2**63 - 1, -(2**63))),
            *(frame(schema_id, long(1)) for schema_id in LARGE),
            *(struct.pack(">d", number) for number in (0.0, 1e-310, 4e-310)),
            b"\x00",
            b"\x00\x80\x00\x00\x00",
            b"\x00\x00\x00\x00\x01",
            b"",
            None,
        ]
        source = there.store("shop", [user(1, number) for number in range(len(keys))], keys=keys)
        found, _, scanned, decoded, *_ = everywhere(there, "shop", source)
        assert "SRF001" in {finding["code"] for finding in found.document["findings"]}
        assert ids(scanned) == {1: len(keys)}
        assert len(decoded.lines) == len(keys)
        assert [line["value"]["userId"] for line in decoded.lines] == list(range(len(keys)))

    @pytest.mark.slow
    def test_two_thousand_ids_that_nobody_knows_hide_nothing(self, there: World) -> None:
        values = [user(1), *(frame(10_000 + n, b"x") for n in range(2_000)), user(1, 8)]
        source = there.store("shop", values)
        done = there.attack("diagnose", "--application", "shop", *source, "--deadline", "5", "--output", "json")
        found = judge(done, most=20 << 20)
        assert found.returncode in (1, 2)
        assert "SRF001" in {finding["code"] for finding in found.document["findings"]}
        scanned = judge(there.attack("scan", "shop-topic", "--output", "json"))
        assert ids(scanned)[1] == 2
        # What a person reads stays readable: no sentence names them all.
        told = judge(there.attack("diagnose", "--application", "shop", *source))
        assert max(map(len, told.stdout.splitlines())) < 10_000

    @pytest.mark.parametrize("guid", slow_but(GUIDS, *[*GUIDS][:3]))
    @pytest.mark.parametrize("name", slow_but(["__value_schema_id", "__key_schema_id"], "__value_schema_id"))
    def test_headers_that_name_no_schema(self, there: World, guid: str, name: str) -> None:
        there.registry.seed("guid-value", '"string"')
        there.topic("guid", [b"\x06Ada", user(1)], headers=((name, GUIDS[guid]),) * 2)
        judge(there.attack("scan", "guid", "--output", "json"))
        judge(there.attack("decode", "guid", "--role", "both", "--output", "json"))
        judge(there.attack("decode", "guid", "--role", "both"))


PATHS = ["..", ".", "a/b", "%00", "%0a", "", "x" * 300]
NO_NAMES = [*PATHS, "--yes", "-x", "@file", "a b", "\n", "*", "`id`", "\x1b[2J", "\ud800"]


class TestTopicNames:
    @pytest.mark.parametrize("name", slow_but(NO_NAMES, "..", "--yes", "\x1b[2J", "\ud800"))
    def test_a_name_that_is_none_is_a_sentence(self, there: World, name: str) -> None:
        raw = name.encode("utf-8", "surrogatepass")
        for command in ("scan", "decode"):
            for arguments in ((command, "--", raw), (command, b"--max-records", b"1", b"--", raw)):
                done = judge(there.attack(*arguments, "--output", "json"), codes=(0, 1, 2))
                assert done.returncode == 2 or json.loads(done.out or b"{}") is not None
        assert set(there.broker.topics) == set()
