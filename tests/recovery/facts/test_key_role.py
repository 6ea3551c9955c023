"""Are a topic's keys schema registry keys?

| a key subject stands | keys that were read | they are |
|---|---|---|
| yes | most decode, or carry an id that it holds | a role, certain |
| yes | 8 or 16 bytes each, hardly any decodes | raw: the subject is a left-over |
| yes | otherwise | a role, not certain |
| no | most decode | a role, assumed |
| no | 8 or 16 bytes each, less than 8 of them or not all decode | raw, said to be too little to tell |
| no | some decode | raw, said |
| no | none decodes | raw |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery.census.interface import Census, IdCount, PartitionCensus, RoleCensus
from srfix.recovery.facts.key_role import (
    KeyReading,
    KeyRole,
    KeySample,
    KeyStanding,
    SampledKey,
    key_role,
    without_key_ids,
)
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.recovery.findings import Diagnosis
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.windowed import Window, WindowKind, join
from srfix.serde.wire import MIN_SCHEMA_ID, SchemaId, frame_id, schema_id_of
from tests.recovery.staging import PHANTOM, PHANTOM_KEY, W1
from tests.recovery.world import ONE_LONG, World, value, world_of

SOURCE_KEY = Subject("users-key")
EMPTY = RoleCensus(ids=(), guids=0, unframed=0, nulls=0, first_unframed_offset=None, live_unframed_keys=0)


def subject(name: Subject, *ids: int, deleted: bool = False) -> SubjectState:
    versions = tuple(
        VersionState(version=number, schema_id=SchemaId(schema_id), deleted=deleted)
        for number, schema_id in enumerate(ids, 1)
    )
    return SubjectState(subject=name, versions=versions, config=None, mode=None)


def count(schema_id: int, keys: int, *, live: int | None = None) -> IdCount:
    return IdCount(
        schema_id=SchemaId(schema_id),
        records=keys,
        live_keys=keys if live is None else live,
        pending_keys=0,
        first_offset=schema_id,
        last_offset=schema_id + keys,
        live_offset=schema_id + keys,
    )


def census(*counts: IdCount, unframed: int = 0) -> Census:
    keys = RoleCensus(
        ids=counts,
        guids=0,
        unframed=unframed,
        nulls=0,
        first_unframed_offset=90 if unframed else None,
        live_unframed_keys=unframed,
    )
    partition = PartitionCensus(
        partition=0,
        start_offset=0,
        end_offset=100,
        committed_offset=100,
        restore_limit=100,
        records=100,
        keys=keys,
        values=EMPTY,
    )
    return Census(topic=Topic("users"), isolation=Isolation.READ_UNCOMMITTED, partitions=(partition,))


def sampled(*keys: tuple[int, KeyReading], size: int = 11) -> KeySample:
    return KeySample(
        keys=tuple(
            SampledKey(partition=0, offset=offset, schema_id=SchemaId(schema_id), size=size, outcome=outcome)
            for offset, (schema_id, outcome) in enumerate(keys)
        ),
        window=None,
    )


DECODES, MISFIT, UNKNOWN, FITS, NOT_READ = (
    KeyReading.DECODES,
    KeyReading.MISFIT,
    KeyReading.UNKNOWN_ID,
    KeyReading.FITS_SUBJECT,
    KeyReading.NOT_READ,
)


def decide(
    counted: Census,
    sample: KeySample,
    *,
    phantom: Iterable[int] = (),
    source: Iterable[int] = (),
    deleted: bool = False,
) -> KeyRole:
    return key_role(
        counted, subject(PHANTOM_KEY, *phantom, deleted=deleted), subject(SOURCE_KEY, *source, deleted=deleted), sample
    )


class TestWithAKeySubject:
    @pytest.mark.parametrize(
        ("schema_id", "outcome", "size", "subjects"),
        [
            *(
                pytest.param(1, DECODES, 11, {where: (7,), "deleted": deleted}, id=f"they-decode-{where}-{deleted}")
                for where in ("phantom", "source")
                for deleted in (False, True)
            ),
            pytest.param(1, MISFIT, 11, {"source": (1,)}, id="broken-ones-with-an-id-that-it-holds"),
            pytest.param(901, FITS, 8, {"phantom": (1,)}, id="lost-ids-whose-bodies-fit-its-schema"),
            pytest.param(1, NOT_READ, 11, {"phantom": (1,)}, id="schemas-without-a-serde-here-are-believed"),
        ],
    )
    def test_keys_are_certain(self, schema_id: int, outcome: KeyReading, size: int, subjects: dict[str, Any]) -> None:
        found = decide(census(count(schema_id, 5)), sampled((schema_id, outcome), size=size), **subjects)
        assert (found.standing, found.not_looked_at) == (KeyStanding.CERTAIN, None)

    def test_lost_ids_alone_are_a_role_and_not_certain(self) -> None:
        found = decide(census(count(901, 5)), sampled((901, UNKNOWN)), phantom=(1,))
        assert (found.standing, found.is_role, found.is_certain) == (KeyStanding.SUBJECT_ONLY, True, False)

    @pytest.mark.parametrize(("size", "type_"), [(8, "BIGINT"), (16, "binary UUID")])
    def test_a_left_over_does_not_make_ids_of_raw_keys(self, size: int, type_: str) -> None:
        counted = census(count(901, 5), count(902, 5), unframed=3)
        found = decide(counted, sampled((901, UNKNOWN), (902, UNKNOWN), size=size), phantom=(1,))
        assert (found.standing, found.could_hide) == (KeyStanding.RAW, False)
        assert found.census.ids(Role.KEY) == ()
        assert found.not_looked_at is not None
        assert f"srfix read 2 keys, each of {size} bytes (like {type_}" in found.not_looked_at

    def test_some_raw_keys_may_seem_to_carry_an_id_that_it_holds(self) -> None:
        keys = [(1, MISFIT), (1, MISFIT), (2, UNKNOWN), (3, UNKNOWN), (3, UNKNOWN), (3, UNKNOWN)]
        counted = census(count(1, 2), count(2, 1), count(3, 3))
        assert decide(counted, sampled(*keys, size=8), phantom=(1,)).standing is KeyStanding.RAW
        by_chance = decide(counted, sampled(*keys, (1, DECODES), size=8), phantom=(1,))
        assert (by_chance.standing, by_chance.could_hide) == (KeyStanding.RAW, True)
        assert decide(counted, sampled(*keys[:3], size=8), phantom=(1,)).standing is KeyStanding.SUBJECT_ONLY

    def test_without_a_framed_key_the_phantom_alone_makes_a_role(self) -> None:
        nothing = KeySample(keys=(), window=None)
        assert decide(census(unframed=5), nothing, phantom=(1,)).is_role
        assert not decide(census(unframed=5), nothing, source=(1,)).is_role


class TestWithoutOne:
    def test_keys_that_decode_are_assumed_and_unframed_ones_weigh_too(self) -> None:
        found = decide(census(count(1, 5)), sampled((1, DECODES)))
        assert (found.standing, found.is_role, found.is_certain) == (KeyStanding.ASSUMED, True, False)
        assert found.not_looked_at is None
        assert decide(census(count(1, 5), unframed=6), sampled((1, DECODES))).standing is KeyStanding.RAW

    def test_keys_that_do_not_decode_are_raw(self) -> None:
        found = decide(census(count(1, 5), count(901, 5)), sampled((1, MISFIT), (901, UNKNOWN)))
        assert (found.standing, found.not_looked_at) == (KeyStanding.RAW, None)
        assert found.census.ids(Role.KEY) == ()

    def test_live_keys_weigh_not_ids(self) -> None:
        """Two ids beside one, but nearly all keys carry the one."""
        sample = sampled((1, DECODES), (901, UNKNOWN), (902, UNKNOWN))
        found = decide(census(count(1, 97), count(901, 1), count(902, 2)), sample)
        assert found.standing is KeyStanding.ASSUMED
        assert found.census.ids(Role.KEY) == (1,)
        assert found.could_hide
        assert "srfix read 3 keys, and 1 of them decodes under the schema" in (found.not_looked_at or "")
        assert decide(census(count(1, 2), count(901, 3)), sample).standing is KeyStanding.RAW

    def test_a_few_that_do_are_said_and_many_could_hide_a_finding(self) -> None:
        sample = sampled((1, DECODES), (901, UNKNOWN))
        few, many = (decide(census(count(1, n), count(901, 10 - n)), sample) for n in (2, 4))
        assert (few.is_role, few.could_hide, many.is_role, many.could_hide) == (False, False, False, True)
        assert "srfix read 2 keys, and only 1 of them decodes" in (many.not_looked_at or "")

    @pytest.mark.parametrize(
        ("keys", "standing"), [(1, KeyStanding.RAW), (7, KeyStanding.RAW), (8, KeyStanding.ASSUMED)]
    )
    def test_eight_bytes_that_decode_are_too_little_to_tell_until_there_are_enough(
        self, keys: int, standing: KeyStanding
    ) -> None:
        found = decide(census(count(1, keys)), sampled(*[(1, DECODES)] * keys, size=8))
        assert (found.standing, found.could_hide) == (standing, standing is KeyStanding.RAW)

    def test_none_that_could_be_read_could_hide_a_finding(self) -> None:
        for sample in (sampled(), sampled((1, NOT_READ))):
            found = decide(census(count(1, 5)), sample)
            assert (found.standing, found.could_hide) == (KeyStanding.RAW, True)


bigints = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.integers(2**24, 2**28) | st.integers(0, 2**40), min_size=1, max_size=20
).map(lambda numbers: [number.to_bytes(8, "big", signed=True) for number in numbers])
uuids = st.lists(st.uuids().map(lambda uuid: uuid.bytes), min_size=1, max_size=20)


def is_a_long(body: bytes) -> bool:
    """Avro's zig-zag in one stretch: the last byte alone has no high bit."""
    return bool(body) and len(body) <= 10 and body[-1] < 0x80 and all(byte >= 0x80 for byte in body[:-1])


@given(keys=bigints | uuids, known=st.sets(st.integers(1, 20)))
def test_a_bigint_or_uuid_key_never_becomes_a_role_without_a_key_subject(keys: list[bytes], known: set[int]) -> None:
    """Whichever ids the registry knows, be they all of the schema "long"; unless eight and more decode without exception."""
    framed = [key for key in keys if key[0] == 0 and schema_id_of(key) >= MIN_SCHEMA_ID]

    def outcome(key: bytes) -> KeyReading:
        if schema_id_of(key) not in known:
            return UNKNOWN
        return DECODES if is_a_long(key[5:]) else MISFIT

    sample = sampled(*((int(schema_id_of(key)), outcome(key)) for key in framed), size=len(keys[0]))
    ids = [schema_id_of(key) for key in framed]
    counted = census(*(count(i, ids.count(i)) for i in sorted(set(ids))), unframed=len(keys) - len(framed))
    found = decide(counted, sample)
    if len(framed) < 8 or any(key.outcome is not DECODES for key in sample.keys):
        assert not found.is_role
        assert found.census.ids(Role.KEY) == ()


@given(ids=st.sets(st.integers(1, 9), max_size=5), strangers=st.sets(st.integers(1, 9)), unframed=st.integers(0, 3))
def test_no_key_is_lost_where_ids_are_none(ids: set[int], strangers: set[int], unframed: int) -> None:
    counted = census(*(count(i, i) for i in sorted(ids)), unframed=unframed)
    (keys,) = (partition.keys for partition in without_key_ids(counted, map(SchemaId, strangers)).partitions)
    assert {c.schema_id for c in keys.ids} == ids - strangers
    assert keys.unframed + sum(c.records for c in keys.ids) == unframed + sum(ids)
    assert keys.live_unframed_keys == unframed + sum(ids & strangers)


@pytest.fixture
def world() -> Iterator[World]:
    """`users` with values of W1 (id 1); no subject of the application `tills` exists."""
    with world_of({"users": 1}) as made:
        made.registry.seed("users-value", W1)
        yield made


def fill(world: World, *keys: bytes, body: bytes | None = None) -> None:
    world.broker.produce(
        ProducedRecord(topic="users", partition=0, key=key, value=value(1) if body is None else body) for key in keys
    )
    for group in ("shop", "tills"):
        world.commit(group, users=len(keys))
    world.sources = {"users-store": Topic("users")}


def of_a_store_without_subjects(world: World) -> Diagnosis:
    return world.examine(application="tills", store="users-store").diagnosis


def codes(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    return {(finding.code, finding.role.value) for finding in diagnosis.findings}


def advises_tombstones(diagnosis: Diagnosis) -> bool:
    return any("tombstone" in finding.next for finding in diagnosis.findings)


BIGINTS = [number.to_bytes(8, "big") for number in (5, 2**24 + 77, 2**25 + 1_000_000, 1_600_000_000_000, 2**40)]
UUIDS = [UUID(int=number).bytes for number in (7, 2**100 + 3, 2**127)]
TEXTS = [b"u1", b"3f2504e0-4f89-11d3-9a0c-0305e82c3301", b""]
WINDOWED_TEXTS = [join(text, Window(1_600_000_000_000), WindowKind.TIME) for text in (b"u1", b"u2", b"")]


@pytest.mark.parametrize(
    "keys", [BIGINTS, UUIDS, TEXTS, WINDOWED_TEXTS], ids=["bigint", "uuid", "text", "windowed-text"]
)
class TestRawKeys:
    def test_they_are_no_schema_ids_where_no_subject_stands(self, world: World, keys: list[bytes]) -> None:
        fill(world, *keys)
        diagnosis = of_a_store_without_subjects(world)
        assert codes(diagnosis) == {("SRF001", "value")}
        assert {finding.role for finding in world.plan(application="tills", store="users-store").findings} == {
            Role.VALUE
        }
        assert not advises_tombstones(diagnosis)

    def test_they_are_none_beside_a_left_over_key_subject(self, world: World, keys: list[bytes]) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM_KEY, '"string"')
        fill(world, *keys)
        diagnosis = world.examine(application="shop").diagnosis
        assert codes(diagnosis) == {("SRF003", "value")}
        assert not diagnosis.is_inconclusive


class TestRegistryKeys:
    def test_they_are_a_role_by_a_record_names_subject_alone(self, world: World) -> None:
        key_id = world.registry.seed("com.example.Key", '{"type":"record","name":"Key","fields":[]}')
        by_name = world.registry.seed(
            "com.example.Id", '{"type":"record","name":"Id","fields":[{"name":"i","type":"long"}]}'
        )
        fill(world, frame_id(key_id, b""), frame_id(by_name, ONE_LONG), frame_id(by_name, b"\x04"))
        assert {code for code in codes(of_a_store_without_subjects(world)) if code[0] == "SRF001"} == {
            ("SRF001", "key"),
            ("SRF001", "value"),
        }

    def test_lost_ids_under_a_key_subject_are_found(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM_KEY, '"string"')
        fill(world, frame_id(901, b"\x04u1"), frame_id(901, b"\x06u12"))
        (finding,) = [f for f in world.examine(application="shop").diagnosis.findings if f.code == "SRF011"]
        assert finding.role is Role.KEY
        assert "do not show that" not in finding.explanation

    def test_lost_ids_that_fit_no_key_subject_are_found_with_a_doubt(self, world: World) -> None:
        world.registry.seed(PHANTOM, W1)
        world.registry.seed(PHANTOM_KEY, '"string"')
        fill(world, frame_id(901, b"\x09"), frame_id(901, b"\x09\x09"))
        (finding,) = [f for f in world.examine(application="shop").diagnosis.findings if f.code == "SRF011"]
        assert finding.explanation.endswith(f"nothing is wrong with them, and {PHANTOM_KEY} is left over.")
        assert "tombstone" not in finding.next

    def test_raw_keys_among_assumed_ones_are_not_decoded_nor_planned(self, world: World) -> None:
        key_id = world.registry.seed("com.example.Key", '"string"')
        names = ("alice", "bob", "carol", "dave")
        fill(
            world,
            *(frame_id(key_id, bytes([2 * len(name)]) + name.encode()) for name in names),
            (1 << 24).to_bytes(8, "big"),
        )
        diagnosis = of_a_store_without_subjects(world)
        assert ("SRF001", "key") in codes(diagnosis)
        assert not {code for code in codes(diagnosis) if code[0] in ("SRF011", "SRF013")}
        planned = {
            int(schema_id)
            for finding in world.plan(application="tills", store="users-store").findings
            if finding.role is Role.KEY
            for schema_id in finding.schema_ids
        }
        assert planned == {key_id}
        (said,) = [skipped for skipped in diagnosis.skipped if skipped.what == "keys of topic users"]
        assert said.could_hide


class TestValues:
    @pytest.fixture
    def diagnosed(self, world: World) -> Callable[..., Diagnosis]:
        """JSON values beside keys of the registry, under a key subject; and what else stands."""

        def diagnose(*subjects: str) -> Diagnosis:
            key_id = world.registry.seed(PHANTOM_KEY, '"string"')
            for subject in subjects:
                world.registry.seed(subject, '"string"' if subject.endswith("-key") else W1)
            world.broker.create_topic("orders", 1)
            world.put("orders", (frame_id(key_id, b"\x06u12"), b'{"id": 1}'))
            world.commit("shop", orders=1)
            world.sources = {"users-store": Topic("orders")}
            return world.examine(application="shop").diagnosis

        return diagnose

    def test_json_values_beside_registry_keys_are_healthy(self, diagnosed: Callable[..., Diagnosis]) -> None:
        diagnosis = diagnosed("orders-key")
        assert codes(diagnosis) == {("SRF003", "key")}
        assert not diagnosis.is_inconclusive

    @pytest.mark.parametrize("subject", ["orders-value", PHANTOM])
    def test_they_are_not_where_a_value_subject_stands(self, diagnosed: Callable[..., Diagnosis], subject: str) -> None:
        diagnosis = diagnosed(subject)
        assert diagnosis.has_findings or diagnosis.is_inconclusive
        assert not advises_tombstones(diagnosis)
