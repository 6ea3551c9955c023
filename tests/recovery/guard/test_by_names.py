"""What guard foretells by names alone, with neither cluster nor registry.

| store | up to 2.6 | from 2.7 on |
|---|---|---|
| table, source topic reused | phantom subject; SRF001 on a restore | asks the source's subject: nothing |
| table, not reused; any other store | its own changelog, or no logging: nothing breaks | the same |
| global store | phantom subject; SRF006 on a restore, whatever the optimisation | nothing |
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from srfix.recovery import Reader, Severity, Supplied
from srfix.recovery.diagnosis.forecast import foretell
from srfix.recovery.forecasts import Certainty
from srfix.recovery.guard.models import Assumed, StoreKind, Wiring
from srfix.recovery.guard.stores import guarded_stores, pseudo_topics, stores_of
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo, SourceDescription
from srfix.recovery.topology import parse_topologies
from srfix.serde import Topic, UsageError
from tests.recovery.guard.offline import (
    AGGREGATE,
    DATA,
    GLOBAL,
    assumed,
    forecast,
    only,
    subjects,
    supplied,
    told,
)
from tests.recovery.guard.seen import new
from tests.recovery.staging import TABLE, graph

PHANTOM = "shop-users-store-changelog-value"
VERSIONS = ["2.6.3", "3.9.2", "4.3.1"]


@pytest.mark.core
class TestStores:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_each_of_a_real_topology_is_what_it_is(self, version: str) -> None:
        found = tuple(guarded_stores(supplied((DATA / version / "topology.txt").read_text())))
        tables = {store.name: store.topic for store in found if store.kind is StoreKind.TABLE}
        assert {"plain", "ts", "fka", "fkb"} <= tables.keys()
        assert all(str(topic).endswith(f"-{store}") for store, topic in tables.items())
        assert [store.name for store in found if store.kind is StoreKind.GLOBAL] == ["glob"]
        others = {store.name for store in found if store.kind is StoreKind.OTHER}
        assert {"win", "sess", "fkres", "supp-store", "fkj-subscription-store"} <= others
        assert len(found) == len({store.name for store in found})
        assert not any(store.may_have_own_processor for store in found)

    @pytest.mark.parametrize("version", VERSIONS)
    def test_a_named_foreign_key_join_has_three_pseudo_topics(self, version: str) -> None:
        found = pseudo_topics(supplied((DATA / version / "topology.txt").read_text()))
        registration = "shop-fkj-subscription-registration-topic"
        assert [each.subject for each in found] == [f"{registration}-{end}" for end in ("pk-key", "fk-key", "vh-value")]

    def test_a_named_topologys_stores_have_its_name_in_theirs(self) -> None:
        (topology,) = parse_topologies(TABLE, origin="t.txt")
        (store,) = stores_of(replace(topology, name="orders"), application="shop", origin="t.txt")
        assert store.changelog == "shop-orders-users-store-changelog"


class TestOnRestore:
    def test_a_reused_source_topic_breaks_up_to_2_6(self) -> None:
        each = only(forecast(TABLE))
        # Possible alone: it may write the producers' schema, and register that.
        assert told(forecast(TABLE)) == [("SRF001", "breaks on restore", "possible")]
        assert (each.subject, each.topic) == (PHANTOM, "users")
        assert "The store's serdes ask shop-users-store-changelog-value for the schemas." in each.explanation
        assert each.first[-1].startswith("After the application has run, and before a restore: `srfix plan --appl")

    @pytest.mark.parametrize(
        ("texts", "how"),
        [
            *(
                pytest.param((TABLE, GLOBAL, AGGREGATE), assumed(running), id=f"from-2.7-on-{running}")
                for running in ("2.7", "2.8.1", "3.9.2", "4.3")
            ),
            *(pytest.param((TABLE,), assumed(running), id=f"{running}-never-reuses") for running in ("1.0", "1.1")),
            pytest.param((AGGREGATE,), assumed(None, "3.9", None, Reader.UNKNOWN), id="an-aggregate-in-no-version"),
        ],
    )
    def test_nothing_breaks(self, texts: tuple[str, ...], how: Assumed) -> None:
        for text in texts:
            found = forecast(text, how)
            assert told(found) == []
            assert (found.fails, found.is_open) == (False, False)

    @pytest.mark.parametrize("optimization", ["none", "merge.repartition.topics"])
    def test_without_reuse_a_table_does_not_break(self, optimization: str) -> None:
        found = forecast(TABLE, assumed(optimization=optimization))
        assert told(found) == []
        assert found.stores[0].wirings == (Wiring.OWN, Wiring.NONE)

    @pytest.mark.parametrize("optimization", [None, "none", "all"])
    def test_a_global_store_breaks_whatever_the_optimisation(self, optimization: str | None) -> None:
        assert told(forecast(GLOBAL, assumed(optimization=optimization))) == [
            ("SRF006", "breaks on restore", "possible")
        ]

    @pytest.mark.parametrize(("running", "optimization"), [(None, "all"), ("2.6", None), (None, None)])
    def test_what_nobody_said_cannot_be_told(self, running: str | None, optimization: str | None) -> None:
        found = forecast(TABLE, assumed(running, optimization=optimization))
        each = only(found)
        assert each.certainty is Certainty.UNTOLD
        assert ("--streams-version" in each.explanation) == (running is None)
        assert ("--optimization" in each.explanation) == (optimization is None)
        assert not found.fails
        assert found.is_open

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_a_reader_that_needs_no_version_makes_it_a_note(self, reader: Reader) -> None:
        found = forecast(TABLE, assumed(reader=reader))
        assert told(found) == [("SRF001", "note", "possible")]
        assert (
            f"A {reader.value} reader can read the rows without versions under this subject" in only(found).explanation
        )
        assert not found.fails

    def test_an_unknown_reader_is_said(self) -> None:
        said = only(forecast(TABLE, assumed(reader=Reader.UNKNOWN))).explanation
        assert "If the reader looks up the version there" in said

    def test_a_processor_that_a_person_named_is_no_table_for_certain(self) -> None:
        assert only(forecast(graph("in", "users-processor"))).certainty is Certainty.UNTOLD
        assert only(forecast(graph("users-table-source", "users-table"))).certainty is Certainty.POSSIBLE

    def test_a_global_stores_own_processor_may_transform_before_3_8(self) -> None:
        text = graph("in", "clean-up", is_global=True)
        assert ("SRF019", "silent wrong results", "cannot be told from here") in told(forecast(text, assumed("3.7")))
        assert told(forecast(text, assumed("3.8"))) == []


class TestOnUpgrade:
    @pytest.mark.parametrize("text", [TABLE, GLOBAL])
    def test_across_2_7_kept_rows_carry_ids_that_the_source_lacks(self, text: str) -> None:
        found = forecast(text, assumed("2.6.3", "3.9"))
        code = "SRF001" if text == TABLE else "SRF006"
        assert told(found) == [
            (code, "breaks on restore", "possible"),
            ("SRF004", "breaks on upgrade", "possible"),
            ("SRF016", "note", "possible"),
        ]
        upgrade = found.foretold[1]
        assert upgrade.subject == "users-value"
        assert "--streams-version 3.9 --also SRF004" in upgrade.first[0]
        assert upgrade.first[1].startswith("Or delete the state directory during the upgrade, not before.")

    @pytest.mark.parametrize("reader", [Reader.PLAIN, Reader.DUAL])
    def test_kept_rows_are_read_by_their_ids_alone(self, reader: Reader) -> None:
        assert "SRF004" not in {code for code, *_ in told(forecast(TABLE, assumed("2.6", "2.7", reader=reader)))}

    @pytest.mark.parametrize(("running", "to"), [("2.5", "2.6.3"), ("2.7", "3.9"), ("3.9", "4.3")])
    def test_on_one_side_of_2_7_nothing_changes(self, running: str, to: str) -> None:
        assert {each.moment.value for each in forecast(TABLE, assumed(running, to)).foretold} <= {"restore"}

    def test_back_across_2_7_the_phantom_is_asked_again(self) -> None:
        each = only(forecast(TABLE, assumed("2.8", "2.6.3")))
        assert (each.code, each.severity, each.subject) == ("SRF001", Severity.BREAKS_ON_UPGRADE, PHANTOM)

    @pytest.mark.parametrize("text", [TABLE, AGGREGATE])
    def test_back_across_4_3_no_state_directory_can_be_opened(self, text: str) -> None:
        found = forecast(text, assumed("4.3.1", "4.2"))
        assert told(found) == [(None, "breaks on upgrade", "possible")]
        assert "(column family offsets), and 4.2 cannot open such a store" in only(found).explanation


class TestSubjects:
    @pytest.mark.parametrize(
        ("text", "optimization", "running", "certainty"),
        [
            (TABLE, "all", "2.7", "excluded"),
            (TABLE, None, "2.6", "cannot be told from here"),
            (TABLE, None, "2.7", "cannot be told from here"),  # it may log nothing
            (TABLE, "all", None, "cannot be told from here"),
            (GLOBAL, None, "2.7", "excluded"),
            (AGGREGATE, "all", "2.6", "cannot be told from here"),
        ],
    )
    def test_each_is_as_certain_as_what_was_said(
        self, text: str, optimization: str | None, running: str | None, certainty: str
    ) -> None:
        found = subjects(forecast(text, assumed(running, optimization=optimization, is_of_one_store=True)))
        assert set(found.values()) == {certainty}

    def test_a_phantom_is_certain_only_where_the_reader_was_said_of_the_store(self) -> None:
        assert subjects(forecast(TABLE, assumed(is_of_one_store=True)))[PHANTOM, "2.6.3"] == "certain"
        assert subjects(forecast(TABLE, assumed()))[PHANTOM, "2.6.3"] == "possible"

    def test_both_versions_are_told(self) -> None:
        found = subjects(forecast(TABLE, assumed("2.6", "2.7", is_of_one_store=True)))
        assert (found[PHANTOM, "2.6"], found[PHANTOM, "2.7"]) == ("certain", "excluded")


class TestKsqldb:
    APPLICATION = "_confluent-ksql-default_query_CTAS_U_0"

    def answers(self, server: str | None) -> Supplied:
        (topology,) = parse_topologies(TABLE, origin="t.txt")
        query = QueryDescription(query_id="CTAS_U_0", topology=topology, consumer_group=self.APPLICATION)
        info = None if server is None else ServerInfo(version=server, service_id="default_")
        return Supplied(ksqldb=(KsqldbAnswers(origin="http://ksql", server=info, queries=(query,)),))

    @pytest.mark.parametrize(
        ("server", "running", "severity"),
        [
            *(("0.29.0", running, "note") for running in (None, "2.6", "3.9")),
            ("0.10.1", "2.5", "breaks on restore"),
            ("5.5.0", "2.5", "breaks on restore"),
        ],
    )
    def test_a_patched_one_asks_a_second_subject_and_every_one_makes_the_phantom(
        self, server: str, running: str | None, severity: str
    ) -> None:
        found = foretell(self.answers(server), assumed(running, optimization=None, reader=Reader.UNKNOWN))
        assert told(found) == [("SRF001", severity, "possible")]
        phantom = f"{self.APPLICATION}-users-store-changelog-value"
        assert severity != "note" or subjects(found)[phantom, str(found.assumed.running)] == "possible"

    def test_values_in_a_format_without_schemas_break_nothing(self) -> None:
        (answers,) = self.answers("0.10.1").ksqldb
        (query,) = answers.queries
        for value_format, breaks in (("JSON", False), ("AVRO", True), ("JSON_SR", True), (None, True)):
            source = SourceDescription(name="U", kind="TABLE", topic=Topic("users"), value_format=value_format)
            known = replace(answers, queries=(replace(query, sources=("U",)),), sources=(source,))
            for schema in (None, new()):
                found = foretell(Supplied(ksqldb=(known,)), assumed("2.5", reader=Reader.UNKNOWN), schema=schema)
                assert [each.code for each in found.foretold] == ["SRF001"] * breaks
                assert subjects(found)[f"{self.APPLICATION}-users-store-changelog-value", "2.5"] == (
                    "possible" if breaks else "excluded"
                )

    def test_only_the_queries_of_the_application_that_is_named_are_judged(self) -> None:
        given = self.answers("0.10.1")
        assert len(foretell(given, assumed(), application=self.APPLICATION).stores) == 1
        with pytest.raises(UsageError, match=r"^ksqlDB knows no query of application 'shop'\. Check"):
            foretell(given, assumed(), application="shop")

    def test_a_query_without_its_topology_is_not_looked_at(self) -> None:
        query = QueryDescription(query_id="CTAS_U_0", consumer_group=self.APPLICATION)
        answers = KsqldbAnswers(origin="http://ksql", queries=(query,), problems=("it answers 401",))
        found = foretell(Supplied(ksqldb=(answers,)), assumed())
        assert [(each.what, each.reason, each.could_hide) for each in found.skipped] == [
            ("ksqlDB (http://ksql)", "it answers 401", True),
            ("query CTAS_U_0 of ksqlDB (http://ksql)", "its topology is not known", True),
        ]
        assert found.is_open


class TestForetell:
    def test_a_topology_of_nobody_is_not_looked_at(self) -> None:
        found = foretell(supplied(TABLE, None), assumed())
        assert [each.what for each in found.skipped] == ["the topology in t.txt"]
        assert found.is_open

    def test_a_topology_without_stores_breaks_nothing(self) -> None:
        stateless = "Topologies:\n   Sub-topology: 0\n    Source: in-source (topics: [in])\n      --> none\n"
        found = forecast(stateless)
        assert (found.stores, found.is_open) == ((), False)

    def test_a_store_that_is_in_no_topology_is_an_error(self) -> None:
        with pytest.raises(UsageError, match=r"^No store with this name is in the files and servers"):
            foretell(supplied(TABLE), assumed(), store="other")

    def test_what_a_person_acknowledged_is_left_out(self) -> None:
        found = foretell(supplied(TABLE), assumed(), ignore=("shop-*-changelog-value",))
        assert told(found) == []
        assert [each.code for each in found.ignored] == ["SRF001"]
        assert not found.fails

    def test_the_worst_stands_first_and_the_most_certain_within(self) -> None:
        text = (DATA / "2.6.3/topology.txt").read_text()
        found = forecast(text, assumed(to="3.9", optimization=None)).foretold
        order = [(list(Severity).index(each.severity), list(Certainty).index(each.certainty)) for each in found]
        assert order == sorted(order)

    @pytest.mark.parametrize("version", VERSIONS)
    def test_of_a_real_topology_only_its_tables_and_its_global_table_are_told(self, version: str) -> None:
        text = (DATA / version / "topology.txt").read_text()
        found = forecast(text, assumed("2.6.3"))
        tables = {each.store.name for each in found.stores if each.store.kind is not StoreKind.OTHER}
        assert {each.store for each in found.foretold} == tables
        assert told(forecast(text, replace(assumed(version)))) == ([] if version != "2.6.3" else told(found))
