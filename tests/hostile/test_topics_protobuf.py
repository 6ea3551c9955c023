"""Topics, stores and answers of a registry with hostile Protobuf in them: one bad record hides no good one. Kinds 1, 7 and 8."""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import ProtobufSerializer, RegistryClient, Role, SerdeContext
from srfix.serde.wire import Framing
from tests.hostile.attack import Done, attack, judge
from tests.hostile.evil import answer, serving
from tests.hostile.test_answers import ESCAPES, HASTY
from tests.hostile.test_topics import good_rows
from tests.hostile.test_values_avro import PEAK
from tests.hostile.test_values_protobuf import (
    LIST,
    P3,
    TEXTS,
    doubling,
    indexes,
    message,
    nested,
    number,
    part,
    short,
    varint,
)
from tests.hostile.worlds import World, frame, world
from tests.telling import slow_but

USER = f"{P3}message User {{ int64 user_id = 1; string name = 2; User friend = 3; }}\n"
"""What producers write."""
INTERNAL = f"{P3}message ConnectDefault1 {{ int64 USER_ID = 1; string NAME = 2; }}\n"
"""What the store's own serde registered."""
STORE = "users-store"
MOST = 60 << 20
"""What may be printed of records that are not decoded: all their bytes."""


def user(schema_id: int, number_: int = 7) -> bytes:
    return frame(schema_id, b"\x00" + number(1, number_) + part(2, b"Ada"))


HOSTILE = {
    "nothing": b"",
    "indexes alone": b"\x00",
    "indexes that end within": b"\x02",
    "indexes of 2^31": indexes(2**30),
    "indexes below 0": indexes(-1),
    "10^6 indexes": varint(2 * 10**6) + b"\x00" * 100_000,
    "a number that ends within": b"\x00\x08",
    "a length of 2^62": b"\x00\x12" + varint(2**62),
    "no UTF-8": b"\x00" + part(2, b"\xff\xfe"),
    "escapes": b"\x00" + number(1, 9) + part(2, ESCAPES.encode()),
    "messages 20,000 deep": b"\x00" + nested(20_000, 3),
    "400,000 unknown fields": b"\x00" + b"\x20\x01" * 400_000,
    "unknown groups": b"\x00" + b"\x23" * 300_000,
    "Avro": b"\x0e\x06Ada",
    "JSON": b'{"user_id": 1}',
}  # fmt: skip
UNREADABLE = {*HOSTILE} - {"indexes alone", "escapes", "400,000 unknown fields"}


@pytest.fixture
def there() -> Iterator[World]:
    with world() as made:
        yield made


def stage(there: World, bodies: list[bytes]) -> tuple[str, ...]:
    """The incident in Protobuf, with hostile records between two good ones; returns where the store restores from."""
    schema_id = there.registry.seed("shop-topic-value", USER, schema_type="PROTOBUF")
    there.registry.seed(f"shop-{STORE}-changelog-value", INTERNAL, schema_type="PROTOBUF")
    values = [user(schema_id), *(frame(schema_id, body) for body in bodies), user(schema_id, 8)]
    there.broker.commit("shop", {("shop-topic", 0): there.topic("shop-topic", values)})
    return "--source", f"shop/{STORE}=shop-topic"


class TestTopics:
    @pytest.mark.parametrize("name", slow_but(HOSTILE, "indexes of 2^31", "messages 20,000 deep", "escapes"))
    def test_one_bad_record_hides_no_good_one(self, there: World, name: str) -> None:
        source = stage(there, [HOSTILE[name]])
        for output in ("json", "table"):
            at = ("--output", output)
            scanned = judge(there.attack("scan", "shop-topic", *at), peak=PEAK)
            found = judge(there.attack("diagnose", "--application", "shop", *source, *at), codes=(1,), peak=PEAK)
            deeper = judge(
                there.attack("diagnose", "--application", "shop", *source, "--decode-values", *at),
                codes=(1, 2),
                peak=PEAK,
            )
            decoded = [
                judge(there.attack("decode", "shop-topic", *more, *at), codes=(0, 1), peak=PEAK)
                for more in (
                    (),
                    ("--columns", "USER_ID BIGINT, NAME STRING"),
                    ("--format", "protobuf", "--role", "both"),
                )
            ]
            for done in (scanned, found, deeper, *decoded):
                short(done)
            if output == "json":
                assert "SRF001" in {finding["code"] for finding in found.document["findings"]}
                for done in decoded[:2]:
                    assert done.returncode == (name in UNREADABLE)
                    ids = [value.get("USER_ID", value.get("user_id")) for value in good_rows(done)]
                    assert [ids[0], ids[-1]] == [7, 8]

    def test_as_keys_they_are_as_harmless(self, there: World) -> None:
        schema_id = there.registry.seed("keys-key", USER, schema_type="PROTOBUF")
        keys: list[bytes | None] = [frame(schema_id, body) for body in HOSTILE.values()]
        there.topic("keys", [b"x"] * len(keys), keys=keys)
        for form in ((), ("--format", "protobuf"), ("--format", "protobuf_nosr", "--columns", "ID BIGINT")):
            judge(
                there.attack("decode", "keys", "--role", "key", *form, "--output", "json"),
                codes=(0, 1),
                most=MOST,
                peak=PEAK,
            )
        judge(there.attack("scan", "keys", "--output", "json"), peak=PEAK)

    @pytest.mark.parametrize("form", ["protobuf_nosr", "delimited"])
    def test_so_it_is_without_a_registry(self, there: World, form: str) -> None:
        there.topic("plain", [*HOSTILE.values(), b'1,"' + b'"' * 300_000, b"\xff,1", b"1,\x1b]0;x\x07"])
        done = there.attack(
            *("decode", "plain", "--format", form, "--columns", "ID BIGINT, NAME STRING", "--output", "json")
        )
        short(judge(done, codes=(1,), most=MOST, peak=PEAK))
        assert len(done.lines) == len(HOSTILE) + 3


HEADERS = {
    "no indexes": b"",
    "the first message": b"\x00",
    "indexes that end within": b"\x02",
    "indexes of 2^31": indexes(2**30),
    "10^6 indexes": varint(2 * 10**6) + b"\x00" * 100_000,
    "a body behind them": b"\x00" + part(2, b"Eve"),
    "300,000 bytes": b"\xff" * 300_000,
}
"""What follows the GUID in a header."""


@pytest.mark.parametrize("name", slow_but(HEADERS, "indexes of 2^31", "a body behind them"))
def test_what_a_header_says_is_read_with_the_same_care(name: str) -> None:
    with EmbeddedBroker() as broker, FixtureRegistry(emulate="8.2") as registry:
        there = World(broker=broker, registry=registry)
        with RegistryClient(registry.url) as client:
            context = SerdeContext("users", Role.VALUE, [])
            body = ProtobufSerializer(client, "ID BIGINT", schema_id_framing=Framing.HEADER_GUID)({"ID": 7}, context)
            assert isinstance(context.headers, list)
            ((header, guid),) = context.headers
            assert isinstance(guid, bytes)
        there.topic("users", [body, b"", b"\xff" * 300_000], headers=((header, guid[:17] + HEADERS[name]),))
        ways: tuple[tuple[str, ...], ...] = ((), ("--columns", "ID BIGINT"))
        for output in ("json", "table"):
            judge(there.attack("scan", "users", "--output", output), peak=PEAK)
            for more in ways:
                done = there.attack("decode", "users", *more, "--output", output)
                short(judge(done, codes=(0, 1), peak=PEAK))


class TestStores:
    @staticmethod
    def build(there: World, folder: Path, *more: str) -> Done:
        return there.attack(
            *("state", "rebuild", "--from-topic", "shop-topic", "--until", "committed", "--kind", "timestamped-kv"),
            *("--application", "shop", "--store", STORE, "--subtopology", "0", "--streams-version", "3.9.2"),
            "--out",
            folder,
            *more,
        )

    @pytest.mark.parametrize("name", slow_but(HOSTILE, "messages 20,000 deep", "escapes"))
    def test_a_row_that_means_harm_is_one_bad_row(self, there: World, name: str, tmp_path: Path) -> None:
        stage(there, [HOSTILE[name]])
        judge(self.build(there, tmp_path / "s"), codes=(0,), peak=PEAK)
        at = ("--store", STORE, "--application", "shop")
        columns = ("--value-columns", "USER_ID BIGINT, NAME STRING")
        forms: tuple[tuple[str, ...], ...] = (
            ("--value-format", "schema"),
            ("--value-format", "protobuf", *columns),
            ("--value-format", "protobuf_nosr", *columns),
            ("--value-format", "delimited", *columns),
        )
        for output in ("json", "table"):
            for form in forms:
                is_without_frame = form[1] in ("protobuf_nosr", "delimited")
                bad = 3 if is_without_frame else int(name in UNREADABLE)
                done = there.attack("state", "scan", tmp_path / "s", *at, *form, "--output", output)
                short(judge(done, codes=(1,) if bad else (0,), peak=PEAK))
                if output == "json":
                    assert (len(done.lines), len(good_rows(done))) == (3, 3 - bad)
                    assert done.stderr.endswith(f"3 rows, {bad} of them not decoded.\n" if bad else "3 rows.\n")
            judge(there.attack("state", "ls", tmp_path / "s", "--output", output), peak=PEAK)
            judge(
                there.attack("state", "diff", tmp_path / "s", *at, "--topic", "shop-topic", "--output", output),
                peak=PEAK,
            )
        for kind in ("jsonl", "csv"):
            out = tmp_path / kind
            done = there.attack("state", "export", tmp_path / "s", *at, *forms[0], "--to", kind, "--out", out)
            short(judge(done, codes=(0, 1, 2), peak=PEAK))
        judge(
            there.attack("state", "get", tmp_path / "s", "k1", *at, "--value-format", "schema"), codes=(0, 1), peak=PEAK
        )

    @pytest.mark.parametrize("name", slow_but(HOSTILE, "messages 20,000 deep", "indexes of 2^31", "escapes"))
    def test_it_is_rewritten_or_kept_or_nothing_is(self, there: World, name: str, tmp_path: Path) -> None:
        stage(there, [HOSTILE[name]])
        under = ("--subject", f"shop-{STORE}-changelog-value")
        for reaction, codes in (("fail", (0, 2)), ("keep-raw", (0, 1))):
            done = judge(
                self.build(there, tmp_path / reaction, *under, "--on-error", reaction), codes=(*codes, 2), peak=PEAK
            )
            short(done)
            assert (tmp_path / reaction / "shop").exists() is (done.returncode != 2)


def test_a_repair_over_rows_that_mean_harm_is_verified_or_a_sentence_says_why(there: World, tmp_path: Path) -> None:
    source = stage(there, [*HOSTILE.values()])
    plan = tmp_path / "p.json"
    judge(there.attack("plan", "--application", "shop", *source, "-o", plan), codes=(0, 1, 2), peak=PEAK)
    assert plan.exists()
    judge(there.attack("apply", plan, "--yes", cwd=tmp_path), codes=(0, 1, 2), peak=PEAK)
    for output in ("json", "table"):
        done = judge(there.attack("verify", plan, "--output", output, cwd=tmp_path), peak=PEAK)
        short(done)


def reply(text: str, *references: dict[str, Any], schema_type: str = "PROTOBUF") -> bytes:
    """One answer that fits a look-up by id and one by subject."""
    document = {
        "id": 1,
        "version": 1,
        "subject": "a-value",
        "schema": text,
        "schemaType": schema_type,
        "references": [*references],
    }
    return json.dumps(document).encode()


def named(name: str, subject: str = "r", version: int = 1) -> dict[str, Any]:
    return {"name": name, "subject": subject, "version": version}


REPLIES: dict[str, bytes] = {
    **{f"text: {name}": reply(TEXTS[name][0]) for name in TEXTS},
    "itself, by reference": reply(f'{P3}import "r.proto"; message R {{}}', named("r.proto")),
    "a name above": reply(f'{P3}import "../../r.proto"; message R {{}}', named("../../r.proto")),
    "a name from the root": reply(f'{P3}import "/etc/passwd"; message R {{}}', named("/etc/passwd")),
    "a name of google's": reply(f"{P3}message R {{}}", named("google/protobuf/timestamp.proto")),
    "a name of ours": reply(f"{P3}message R {{}}", named("srfix_schema.proto")),
    "a name with escapes": reply(f"{P3}message R {{}}", named(ESCAPES)),
    "a name of 300,000": reply(f"{P3}message R {{}}", named("x" * 300_000)),
    "no name": reply(f"{P3}message R {{}}", named("")),
    "a subject out of the path": reply(f"{P3}message R {{}}", named("r.proto", "../../config", -1)),
    "a subject of 100,000": reply(f"{P3}message R {{}}", named("r.proto", "s" * 100_000)),
    "200 references, each to all": reply(f"{P3}message R {{}}", *(named(f"r{i}.proto", f"r{i}") for i in range(200))),
    "an Avro text": reply('"string"'),
    "under Avro": reply(f"{P3}message R {{}}", schema_type="AVRO"),
    "a type of escapes": reply(f"{P3}message R {{}}", schema_type=ESCAPES),
    "a list that is none": json.dumps({"id": 1, "schema": P3, "schemaType": "PROTOBUF", "references": {"a": 1}}).encode(),
}  # fmt: skip


class TestAnswers:
    @pytest.mark.parametrize(
        "name",
        slow_but(REPLIES, "text: 300 that double", "itself, by reference", "a name above", "a name with escapes"),
    )
    def test_a_schema_of_the_registry_ends_in_rows_or_in_a_sentence(self, name: str) -> None:
        with serving(answer(REPLIES[name])) as server:
            at = ("--registry", server.url, *HASTY, "-R", "max.retries=0")
            payload = "hex:" + frame(1, b"\x00" + number(1, 1)).hex()
            for arguments in (
                ("decode", "--payload", payload, *at),
                ("decode", "--payload", payload, "--columns", "N INT", "--output", "json", *at),
                ("encode", "--format", "protobuf", "--schema-id", "1", "--columns", "n INT", "{}", *at),
                ("encode", "--format", "protobuf", "--schema-id", "1", "--full-name", "R", "{}", *at),
                ("schema", "--from-subject", "a-value", "--format", "protobuf", *at),
                ("schema", "--from-subject", "a-value", "--format", "avro", "--output", "json", *at),
            ):
                done = judge(attack(*arguments, wall_s=200), codes=(0, 1, 2), peak=PEAK, secrets=("root:x:0",))
                short(done)

    def test_thousands_of_references_to_thousands_each_end(self) -> None:
        """For Avro it is the same."""
        references = [named(f"r{i}.proto", f"r{i}") for i in range(2_900)]
        with serving(answer(reply(f"{P3}message R {{}}", *references))) as server:
            at = ("--registry", server.url, *HASTY, "-R", "max.retries=0")
            done = attack("decode", "--payload", "hex:" + frame(1, b"\x00").hex(), *at, cpu_s=10, wall_s=200)
            short(judge(done, codes=(0, 1, 2), peak=PEAK))
            assert b"REFERENCE_LINKS" in done.err

    @pytest.mark.parametrize(
        "text", [doubling(22), doubling(300), LIST, message("repeated R r = 1;")], ids=["22", "300", "itself", "many"]
    )
    def test_columns_of_messages_in_messages_end(self, there: World, text: str) -> None:
        there.registry.seed("a-value", text, schema_type="PROTOBUF")
        for more in ((), ("--full-name", "R"), ("--output", "json")):
            done = there.attack("schema", "--from-subject", "a-value", "--format", "protobuf", *more)
            judge(done, codes=(0, 1, 2), peak=PEAK)
            short(done)
