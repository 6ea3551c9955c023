"""How a restore reads: as the person said, as the application's transactional ids tell, or as Java does by default."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.recovery.facts.isolation import TRANSACTIONS, is_of, parse_key
from srfix.recovery.findings import Weight
from srfix.serde.properties.kafka_client import Isolation
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R
from tests.recovery.world import World, value, world_of

UUID = "6b1f7e0a-52d5-4b3e-9c53-0f7a1c1d2e3f"


def key(transactional_id: str, version: int = 0) -> bytes:
    text = transactional_id.encode()
    return struct.pack(">hh", version, len(text)) + text


class TestIsOf:
    @pytest.mark.parametrize(
        ("transactional_id", "application", "expected"),
        [
            ("shop-0_0", "shop", True),
            ("shop-12_345", "shop", True),
            ("shop-east__0_3", "shop", True),
            (f"shop-{UUID}-1", "shop", True),
            ("shop-online-0_0", "shop-online", True),
            ("shop-online-0_0", "shop", False),
            (f"shop-online-{UUID}-1", "shop", False),
            ("shop", "shop", False),
            ("shop-", "shop", False),
            ("shop-writer", "shop", False),
            ("shop-0_0\n", "shop", False),
            ("another-0_0", "shop", False),
        ],
    )
    def test_only_what_kafka_streams_makes_for_the_application_is(
        self, transactional_id: str, application: str, expected: bool
    ) -> None:
        assert is_of(transactional_id, application) is expected


class TestParseKey:
    @given(st.text(max_size=40))
    def test_it_reads_what_a_coordinator_writes(self, transactional_id: str) -> None:
        assert parse_key(key(transactional_id)) == transactional_id

    @given(st.binary(max_size=20))
    def test_it_takes_any_bytes(self, other: bytes) -> None:
        parsed = parse_key(other)
        assert parsed is None or key(parsed) == other

    @pytest.mark.parametrize(
        "other", [None, b"", b"\0", key("shop-0_0", version=1), key("shop-0_0")[:-1], key("a") + b"b"]
    )
    def test_anything_else_is_none(self, other: bytes | None) -> None:
        assert parse_key(other) is None


def staged(made: World) -> World:
    made.registry.seed(SOURCE_SUBJECT, W1)
    made.registry.seed(PHANTOM, R)
    made.live(("a", value(1)))
    return made


class TestRestoreIsolation:
    def test_where_nobody_ever_wrote_in_a_transaction_it_is_javas_default_and_nothing_is_said(self) -> None:
        with world_of({"users": 1}) as made:
            (finding,) = staged(made).examine().diagnosis.findings
        assert [seen.kind for seen in finding.observations if seen.kind == "isolation"] == []

    @pytest.mark.parametrize("transactional_id", ["shop-0_0", f"shop-{UUID}-1"])
    def test_a_transactional_id_of_the_application_says_exactly_once(self, transactional_id: str) -> None:
        with world_of({"users": 1, TRANSACTIONS: 2}) as made:
            made.broker.produce([ProducedRecord(topic=TRANSACTIONS, partition=1, key=key(transactional_id), value=b"")])
            survey = staged(made).survey()
            found = survey.restore_isolation("shop")
            assert (found.isolation, found.weight) == (Isolation.READ_COMMITTED, Weight.STRONG)
            assert survey.restore_isolation("tills").isolation is Isolation.READ_UNCOMMITTED
            examination = made.examine()
        (facts,) = examination.facts
        assert facts.census is not None
        assert facts.census.isolation is Isolation.READ_COMMITTED
        (finding,) = examination.diagnosis.findings
        (seen,) = (seen for seen in finding.observations if seen.kind == "isolation")
        assert seen.says == "read_committed"
        assert f"the application writes in transactions ({transactional_id}), so it runs exactly-once" in seen.detail

    def test_the_person_is_believed(self) -> None:
        with world_of({"users": 1, TRANSACTIONS: 1}) as made:
            survey = staged(made).survey()
            survey.isolation = Isolation.READ_COMMITTED
            (facts,) = made.examine(survey=survey).facts
        assert facts.census is not None
        assert facts.census.isolation is Isolation.READ_COMMITTED

    def test_what_could_not_be_read_is_said_and_hides_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("srfix.recovery.facts.isolation._DEADLINE_S", 0.0)
        with world_of({"users": 1, TRANSACTIONS: 1}) as made:
            skipped = staged(made).examine().diagnosis.skipped
        (said,) = (each for each in skipped if "committed or uncommitted" in each.what)
        assert (said.what, said.could_hide) == (
            "whether restores of application shop read committed or uncommitted records",
            False,
        )
        assert "(__transaction_state was not read to its end in 0 s)" in said.reason
        assert said.reason.endswith("say --isolation read_committed")
