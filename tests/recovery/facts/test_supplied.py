"""Which stores of a printed topology are tables of a topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from srfix.recovery.facts.supplied import own_processor, table_sources
from srfix.recovery.findings import Weight
from srfix.recovery.topology import Topology, parse_topologies
from tests.recovery.staging import graph

DATA = Path(__file__).parents[1] / "state/data"


def found(text: str) -> dict[str, tuple[str, Weight]]:
    (topology,) = parse_topologies(text, origin="p")
    return {table.store: (table.topic, table.weight) for table in table_sources(topology)}


class TestTableSources:
    @pytest.mark.parametrize("version", ["2.6.3", "3.9.2"])
    def test_tables_and_global_tables_of_a_real_topology_and_nothing_else(self, version: str) -> None:
        tables = found((DATA / version / "topology.txt").read_text())
        wanted = {"plain", "ts", "glob", "fka", "fkb"} | ({"ver"} if version == "3.9.2" else set())
        assert set(tables) == wanted
        assert {weight for _topic, weight in tables.values()} == {Weight.CONCLUSIVE}
        assert all(topic.endswith(f"-{store}") for store, (topic, _weight) in tables.items())

    def test_an_aggregate_directly_behind_its_source_is_no_table(self) -> None:
        assert found(graph("KSTREAM-SOURCE-0000000000", "KSTREAM-AGGREGATE-0000000001")) == {}

    def test_a_source_of_two_topics_makes_no_table(self) -> None:
        assert found(graph("KSTREAM-SOURCE-0000000000", "KTABLE-SOURCE-0000000001", topics="a, b")) == {}

    def test_a_store_behind_an_identity_step_is_not_the_table(self) -> None:
        text = graph("KSTREAM-SOURCE-0000000000", "KTABLE-SOURCE-0000000001", stores="").replace(
            "--> none", "--> KTABLE-TRANSFORMVALUES-0000000002"
        )
        text += "    Processor: KTABLE-TRANSFORMVALUES-0000000002 (stores: [s])\n      --> none\n"
        assert found(text) == {}

    def test_a_named_table_is_known_by_its_sources_name(self) -> None:
        assert found(graph("users-table-source", "users-table")) == {"users-store": ("users", Weight.STRONG)}

    def test_a_named_processor_may_be_anything(self) -> None:
        assert found(graph("in", "process")) == {"users-store": ("users", Weight.WEAK)}

    def test_a_named_processor_behind_a_generated_source_is_no_table(self) -> None:
        assert found(graph("KSTREAM-SOURCE-0000000000", "oj-this-windowed")) == {}

    def test_behind_a_joins_own_topic_stands_no_table(self) -> None:
        assert found(graph("in", "receive", topics="fkj-subscription-registration-topic")) == {}


@pytest.mark.core
class TestOwnProcessor:
    def topology(self, processor: str, source: str, *, is_global: bool = True) -> Topology:
        text = graph(source, processor, topics="rates", stores="rates-store", is_global=is_global)
        (found,) = parse_topologies(text, origin="t")
        return found

    def test_one_that_a_person_named_over_a_global_store_is_the_users_own(self) -> None:
        found = own_processor(self.topology("RatesUpdater", "rates-in"), "rates-store")
        assert found is not None
        assert (found.name, found.topic) == ("RatesUpdater", "rates")

    @pytest.mark.parametrize(
        ("processor", "source"),
        [
            ("KTABLE-SOURCE-0000000001", "KSTREAM-SOURCE-0000000000"),
            ("rates", "rates-source"),
            ("KSTREAM-PROCESSOR-0000000001", "KSTREAM-SOURCE-0000000000"),
        ],
    )
    def test_what_global_table_names_is_not(self, processor: str, source: str) -> None:
        assert own_processor(self.topology(processor, source), "rates-store") is None

    def test_one_over_another_store_or_no_global_one_is_not(self) -> None:
        assert own_processor(self.topology("RatesUpdater", "rates-in"), "other-store") is None
        assert own_processor(self.topology("RatesUpdater", "rates-in", is_global=False), "rates-store") is None
