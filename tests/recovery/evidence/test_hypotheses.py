"""Whose store is it, and which topic does it restore from: hypotheses, weighed for and against.

| what is seen | outcome |
|---|---|
| one topic has all fields, whoever reads it | that one, as a table or as a global table |
| none of the fields is one of a topic's | that one is out |
| two topics fit alike, one of them is read | that one; where nothing is wrong with it so, the other is asked too |
| two fit, and the one that is not read fits better, or the store is named after it | undecided |
| a topic fits, and is gone | said to be gone |
| a group without a sign of Kafka Streams | no application |
| two applications that the name allows, one reads the topic | undecided, unless the name tells too |
| a topic of two stores | the one that leads by the margin, or neither |
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.cluster.answers import GroupListing, GroupState
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.weighing import weigh_all
from srfix.recovery.evidence import rules
from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.hypotheses import Hypothesis, Verdict, choose
from srfix.recovery.evidence.rules import MARGIN, POINTS, Rule
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.findings import Evidence, Weight
from srfix.serde import Topic, UsageError
from tests.recovery.world import World, value, world_of

STORE = SuspectStore(application="shop", name="users-store")


def record(*names: str, name: str = "KsqlDataSourceSchema") -> str:
    fields = [{"name": field, "type": ["null", "string"], "default": None} for field in names]
    return json.dumps({"type": "record", "name": name, "fields": fields})


@pytest.fixture
def world() -> Iterator[World]:
    """`users` (id, name) and `logins` (user, at), which application `shop` reads."""
    with world_of({"users": 1, "logins": 1, "enriched": 1}) as made:
        made.registry.seed("users-value", record("id", "name"))
        made.registry.seed("logins-value", record("login", "at"))
        yield made


RULES = [rule for rule in vars(rules).values() if isinstance(rule, Rule)]


def verdicts(world: World, *, application: str | None = None, **sources: str) -> dict[str, Verdict]:
    survey = world.survey(**sources)
    candidates = find_candidates(survey, application=application, store=None, command_line=CommandLine())
    return {v.suspect.changelog: v for v in weigh_all(candidates.suspects, survey, candidates.applications)}


def decided(world: World, **how: str) -> tuple[str, str | None] | None:
    """The one changelog's store and topic; None while undecided."""
    (verdict,) = verdicts(world, **how).values()
    return None if verdict.chosen is None else (str(verdict.chosen.store), verdict.chosen.topic)


def phantom(world: World, changelog: str = "shop-t-changelog", *fields: str) -> None:
    world.registry.seed(f"{changelog}-value", record(*(fields or ("ID", "NAME"))))


class TestTheTopic:
    def test_a_tables_topic_is_found_among_those_that_the_application_reads(self, world: World) -> None:
        phantom(world)
        world.commit("shop", users=0, logins=0)
        assert decided(world) == ("shop/t", "users")

    def test_a_global_tables_topic_is_found_though_nobody_commits_it(self, world: World) -> None:
        """Seen wrong: `logins` was chosen for `users-global`, as the only topic that the group committed."""
        phantom(world, "shop-users-global-changelog")
        world.commit("shop", logins=0)
        assert decided(world) == ("shop/users-global", "users")

    def test_of_topics_of_the_same_fields_the_one_that_the_group_reads_is_the_source(self, world: World) -> None:
        """Seen undecided: `CREATE STREAM enriched AS SELECT …` makes such a topic every day."""
        world.registry.seed("enriched-value", record("id", "name"))
        phantom(world)
        world.commit("shop", users=0, logins=0)
        assert decided(world) == ("shop/t", "users")

    def test_of_ksqldb_that_is_so_whichever_fields_the_others_have_for_it_has_no_global_tables(
        self, world: World
    ) -> None:
        query = "_confluent-ksql-default_query_CTAS_T_0"
        world.registry.seed("enriched-value", record("id"))  # just the store's, and nobody's offsets
        phantom(world, f"{query}-KsqlTopic-Reduce-changelog", "ID")
        world.commit(query, users=0)
        assert decided(world) == (f"{query}/KsqlTopic-Reduce", "users")

    def test_two_of_them_that_it_reads_leave_it_open(self, world: World) -> None:
        world.registry.seed("enriched-value", record("id", "name"))
        phantom(world)
        world.commit("shop", users=0, enriched=0)
        assert decided(world) is None

    def test_though_the_store_begins_as_both_do(self, world: World) -> None:
        world.broker.create_topic("users-2", 1)
        world.registry.seed("users-2-value", record("id", "name"))
        phantom(world, "shop-users-t-changelog")
        world.commit("shop", users=0, logins=0)
        assert decided(world) == ("shop/users-t", "users")

    def test_one_that_the_store_is_named_after_may_be_a_global_tables(self, world: World) -> None:
        world.registry.seed("enriched-value", record("id", "name"))
        phantom(world, "shop-users-t-changelog")
        world.commit("shop", enriched=0)
        assert decided(world) is None

    def test_of_a_topic_of_exactly_its_fields_and_one_of_more_the_group_tells(self, world: World) -> None:
        world.registry.seed("enriched-value", record("id", "name", "login"))
        phantom(world)
        world.commit("shop", users=0, logins=0)
        assert decided(world) == ("shop/t", "users")

    def test_one_of_more_fields_that_it_reads_is_no_better_than_one_of_exactly_its_own(self, world: World) -> None:
        world.registry.seed("enriched-value", record("id", "name", "login"))
        phantom(world)
        world.commit("shop", enriched=0)
        assert decided(world) is None

    def test_fields_that_an_older_version_had_count_as_well(self, world: World) -> None:
        world.registry.seed("users-value", record("id", "name", "street"))
        world.registry.seed("enriched-value", record("id", "name", "login"))
        phantom(world)
        world.commit("shop", enriched=0)
        assert decided(world) is None

    def test_a_topic_that_the_store_is_named_after_and_that_cannot_be_compared_stays_open(self, world: World) -> None:
        """Seen wrong: a topic of more fields was chosen for `clients-global`, whose own topic is empty and has no subject."""
        world.broker.create_topic("clients", 1)
        world.registry.seed("enriched-value", record("id", "name", "login"))
        phantom(world, "shop-clients-global-changelog", "LOGIN")
        world.commit("shop", enriched=0)
        assert decided(world) is None

    def test_a_topic_that_is_read_alone_is_not_enough(self, world: World) -> None:
        world.registry.seed("shop-t-changelog-key", '"string"')
        world.commit("shop", users=0)
        assert decided(world) is None

    def test_a_topic_without_a_field_in_common_is_out(self, world: World) -> None:
        phantom(world, "shop-t-changelog", "COLOUR")
        world.commit("shop", users=0)
        (verdict,) = verdicts(world).values()
        assert verdict.chosen is None
        assert [each.topic for each in verdict.ruled_out] == ["users"]  # nothing speaks for logins
        assert verdict.ranked == ()

    def test_a_source_named_after_its_records_is_found_by_the_ids_in_it(self, world: World) -> None:
        schema_id = world.registry.seed("com.example.Visit", record("id", "place"))
        world.put("enriched", ("a", value(schema_id)))
        phantom(world, "shop-t-changelog", "ID", "PLACE")
        world.commit("shop", enriched=0, logins=0)
        assert decided(world) == ("shop/t", "enriched")

    def test_so_is_one_under_whose_subject_only_a_reader_registered_its_schema(self, world: World) -> None:
        """Seen wrong: its subject held another application's schema (Streams 2.7 and later), so the topic was out."""
        schema_id = world.registry.seed("com.example.Visit", record("id", "place"))
        world.put("enriched", ("a", value(schema_id)))
        world.registry.seed("enriched-value", record("MOOD"))
        phantom(world, "shop-t-changelog", "ID", "PLACE")
        world.commit("shop", enriched=0, logins=0)
        assert decided(world) == ("shop/t", "enriched")

    def test_one_whose_schemas_are_gone_for_good_is_found_by_the_ids_that_nobody_knows(self, world: World) -> None:
        """Seen undecided, with one hypothesis: no schema was left to compare the store's with."""
        world.put("enriched", ("a", value(77)))
        phantom(world, "shop-t-changelog", "PLACE")
        world.commit("shop", enriched=0)
        assert decided(world) == ("shop/t", "enriched")
        world.registry.seed("logins-value", record("login", "at", "place"))
        assert decided(world) is None

    def test_so_is_one_that_a_global_table_reads(self, world: World) -> None:
        schema_id = world.registry.seed("com.example.Visit", record("id", "place"))
        world.put("enriched", ("a", value(schema_id)))
        phantom(world, "shop-t-changelog", "PLACE")
        world.commit("shop", logins=0)
        assert decided(world) == ("shop/t", "enriched")

    def test_one_named_after_its_topic_and_its_records_is_found_though_the_topic_is_empty(self, world: World) -> None:
        """Seen wrong: `enriched`, of more fields, was taken for it."""
        world.broker.create_topic("visits", 1)
        world.registry.seed("visits-com.example.Visit", record("id", "place", name="com.example.Visit"))
        world.registry.seed("enriched-value", record("id", "place", "login"))
        phantom(world, "shop-t-changelog", "ID", "PLACE")
        world.commit("shop", enriched=0)
        assert decided(world) is None
        world.commit("shop", enriched=0, visits=0)
        assert decided(world) is None
        world.commit("tills", visits=0)
        phantom(world, "tills-visits-t-changelog", "ID", "PLACE")
        assert next(v for v in verdicts(world).values() if v.suspect.changelog.startswith("tills")).chosen is not None

    def test_one_that_is_gone_stays_the_likely_one(self, world: World) -> None:
        """Seen wrong: another topic that the group reads was taken for the source that somebody deleted."""
        world.registry.seed("clients-value", record("id", "city"))
        phantom(world, "shop-t-changelog", "ID", "CITY")
        phantom(world, "shop-KSTREAM-JOINTHIS-0000000004-store-changelog", "NAME")  # of a join, which reads another one
        world.commit("shop", users=0, logins=0)
        verdict = verdicts(world)["shop-t-changelog"]
        assert verdict.chosen is not None
        assert (verdict.chosen.topic, verdict.chosen.is_gone) == ("clients", True)

    def test_the_left_over_subject_of_one_that_is_gone_is_no_rival_of_what_is_read(self, world: World) -> None:
        world.registry.seed("users-old-value", record("id", "name"))
        phantom(world)
        world.commit("shop", users=0, logins=0)
        assert decided(world) == ("shop/t", "users")

    def test_one_that_is_gone_and_fits_better_leaves_it_open(self, world: World) -> None:
        """Seen wrong: `enriched`, of more fields than the phantom, was taken for the source that somebody deleted."""
        world.registry.seed("enriched-value", record("id", "city", "login"))
        world.registry.seed("clients-value", record("id", "city"))
        phantom(world, "shop-t-changelog", "ID", "CITY")
        world.commit("shop", enriched=0)
        assert decided(world) is None

    def test_one_that_is_gone_and_fits_no_better_is_no_rival_of_what_is_read(self, world: World) -> None:
        """Seen on a real broker: subjects that topics of the same schema had left, of which there may be many."""
        world.registry.seed("users-value", record("id", "name", "street"))
        world.registry.seed("users-old-value", record("id", "name", "street"))
        phantom(world, "shop-t-changelog", "NAME")
        world.commit("shop", users=0)
        assert decided(world) == ("shop/t", "users")

    def test_a_topic_is_one_stores(self, world: World) -> None:
        """`validateTopicNotAlreadyRegistered`: of two stores of one application at most one is the topic's table."""
        for changelog in ("shop-a-changelog", "shop-b-changelog"):
            phantom(world, changelog)
        world.commit("shop", users=0)
        assert [verdict.chosen for verdict in verdicts(world).values()] == [None, None]
        named = verdicts(world, **{"shop/a": "users"})
        assert [v.chosen is not None for v in named.values()] == [True, False]
        assert named["shop-b-changelog"].taken == "users"

    def test_one_that_another_store_may_restore_from_is_not_surely_that_of_one_which_may_be_a_global_tables(
        self, world: World
    ) -> None:
        """Seen wrong: `users` was chosen for `g`, a global table of a topic that nobody can compare, as `enriched`."""
        for changelog in ("shop-g-changelog", "shop-enriched-t-changelog"):
            phantom(world, changelog, "NAME")
        world.commit("shop", users=0)
        assert [verdict.chosen for verdict in verdicts(world).values()] == [None, None]

    def test_nor_is_one_that_a_join_reads_as_a_stream(self, world: World) -> None:
        """Seen wrong: the window holds records of `users`, whose table `g` was said to be."""
        phantom(world, "shop-g-changelog", "NAME")
        world.commit("shop", users=0)
        assert decided(world) == ("shop/g", "users")
        phantom(world, "shop-KSTREAM-JOINTHIS-0000000004-store-changelog", "ID", "NAME")
        assert decided(world) is None

    def test_of_a_topic_that_a_person_names_for_another_store_whatever_the_context(self, world: World) -> None:
        world.registry.seed(":.eu:shop-a-changelog-value", record("ID", "NAME"))
        phantom(world, "shop-b-changelog")
        world.commit("shop", users=0)
        named = verdicts(world, **{"shop/a": "users"})
        assert named["shop-b-changelog"].chosen is None

    def test_what_the_person_names_decides_whatever_the_rest_says(self, world: World) -> None:
        phantom(world)
        world.commit("shop", users=0)
        assert decided(world, t="logins") == ("shop/t", "logins")


class TestTheApplication:
    def test_a_plain_consumer_group_whose_name_is_a_prefix_is_none(self, world: World) -> None:
        """Seen wrong: group `my-app-users` beside application `my-app`."""
        phantom(world, "my-app-users-store-changelog")
        world.commit("my-app", users=0)
        world.consume("my-app-users", users=0)
        assert decided(world) == ("my-app/users-store", "users")

    def test_a_plain_group_alone_is_no_application_either(self, world: World) -> None:
        """Seen wrong: `inventory-db-changelog`, a topic of a user that is gone, beside a plain group `inventory`."""
        phantom(world, "inventory-db-changelog")
        world.consume("inventory", users=0)
        (verdict,) = verdicts(world).values()
        assert (verdict.established, verdict.unproven) == ((), ("inventory",))

    def test_nor_is_one_beside_an_application_that_is_gone(self, world: World) -> None:
        """Seen wrong: the expired application `orders-enricher` beside a group `orders`."""
        phantom(world, "orders-enricher-store-changelog")
        world.consume("orders", users=0)
        (verdict,) = verdicts(world).values()
        assert verdict.established == ()

    def test_two_applications_of_which_one_reads_the_topic_leave_it_open(self, world: World) -> None:
        """Seen wrong: the topic was read by one, and the store was the other one's global table."""
        phantom(world, "shop-eu-t-changelog")
        world.commit("shop-eu", logins=0)
        world.commit("shop", users=0, logins=0)
        assert decided(world) is None

    def test_so_does_a_store_of_that_name_on_the_disk_of_the_other_one(self, world: World, tmp_path: Path) -> None:
        """Seen wrong: the store was the other one's, and in the directory that the person gave."""
        phantom(world, "shop-eu-t-changelog")
        world.commit("shop-eu", logins=0)
        world.commit("shop", users=0, logins=0)
        for store in ("t", "u"):
            (tmp_path / "shop-eu" / "0_0" / "rocksdb" / store).mkdir(parents=True)
        (tmp_path / "shop-eu" / "0_0" / ".checkpoint").write_text("0\n1\nlogins 0 0\n")
        world.hand_over(tmp_path)
        assert verdicts(world)["shop-eu-t-changelog"].chosen is None

    def test_of_two_applications_the_one_that_reads_the_topic_after_which_the_store_is_named_has_it(
        self, world: World
    ) -> None:
        phantom(world, "shop-eu-users-t-changelog")
        world.commit("shop-eu", users=0, logins=0)
        world.commit("shop", logins=0)
        (verdict,) = verdicts(world).values()
        assert verdict.chosen is not None
        assert str(verdict.chosen.store) == "shop-eu/users-t"
        assert "shop/eu-users-t" in [str(split) for split in verdict.other_splits]

    def test_one_that_runs_and_commits_nothing_may_have_it_as_a_global_table(self, world: World) -> None:
        world.broker.create_topic("inventory-db-changelog", 1)
        world.registry.seed("inventory-db-changelog-value", record("sku", "stock"))
        phantom(world, "shop-eu-t-changelog", "SKU", "STOCK")
        world.commit("shop-eu", logins=0)
        world.commit("shop", **{"inventory-db-changelog": 0})
        assert decided(world) is None

    def test_the_word_that_a_store_is_named_after_may_be_of_a_longer_applications_name(self, world: World) -> None:
        """Seen wrong: `my-app/users-g`, where `my-app-users/g` was a global table of `users`."""
        phantom(world, "my-app-users-g-changelog")
        world.commit("my-app", users=0)
        world.commit("my-app-users", logins=0)
        assert decided(world) is None

    def test_a_topic_named_as_internal_is_compared_for_each_that_may_have_it(self, world: World) -> None:
        """Seen wrong: another application, which read the topic, beside the one whose store's automatic name says it."""
        world.broker.create_topic("db-changelog", 1)
        world.registry.seed("db-changelog-value", record("sku", "stock"))
        phantom(world, "shop-eu-db-changelog-STATE-STORE-0000000000-changelog", "SKU", "STOCK")
        world.commit("shop", **{"db-changelog": 0})
        world.commit("shop-eu", logins=0)
        assert decided(world) != ("shop/eu-db-changelog-STATE-STORE-0000000000", "db-changelog")

    def test_internal_topics_of_one_without_a_group_make_it_a_doubt(self, world: World) -> None:
        phantom(world, "shop-eu-t-changelog")
        world.commit("shop", users=0)
        assert decided(world) == ("shop/eu-t", "users")
        world.broker.create_topic("shop-eu-by-name-repartition", 1)
        assert decided(world) is None

    def test_where_both_read_it_neither_has(self, world: World) -> None:
        phantom(world, "shop-eu-t-changelog")
        for application in ("shop", "shop-eu"):
            world.commit(application, users=0)
        (verdict,) = verdicts(world).values()
        assert verdict.chosen is None
        assert {(str(each.store), each.topic) for each in verdict.open} == {
            ("shop/eu-t", "users"),
            ("shop-eu/t", "users"),
        }

    def test_a_source_that_is_named_with_its_application_decides_between_them(self, world: World) -> None:
        phantom(world, "shop-eu-t-changelog")
        for application in ("shop", "shop-eu"):
            world.commit(application, users=0)
        assert decided(world, **{"shop-eu/t": "users"}) == ("shop-eu/t", "users")

    def test_a_source_without_one_that_meets_two_applications_is_refused_with_their_names(self, world: World) -> None:
        for application in ("shop", "tills"):
            phantom(world, f"{application}-t-changelog")
            world.commit(application, users=0)
        with pytest.raises(UsageError, match=r"Name the application: --source shop/t=users, --source tills/t=users\.$"):
            verdicts(world, t="users")
        assert [v.chosen is not None for v in verdicts(world, **{"tills/t": "users"}).values()] == [True, True]

    def test_the_person_who_names_a_source_says_that_there_is_an_application(self, world: World) -> None:
        phantom(world, "gone-t-changelog")
        assert decided(world, **{"gone/t": "users"}) == ("gone/t", "users")

    @pytest.mark.parametrize(
        ("assignor", "client_ids", "established"),
        [
            ("stream", ("x",), True),
            ("", ("shop-4f6d-StreamThread-1-consumer",), True),
            ("range", ("rdkafka",), False),
        ],
    )
    def test_members_tell(
        self,
        world: World,
        monkeypatch: pytest.MonkeyPatch,
        assignor: str,
        client_ids: tuple[str, ...],
        established: bool,
    ) -> None:
        state = GroupState(
            group="shop", state="Stable", members=1, problem=None, assignor=assignor, client_ids=client_ids
        )
        monkeypatch.setattr(type(world.cluster), "group_state", lambda _cluster, _group, **_how: state)
        phantom(world)
        world.consume("shop", users=0)
        (verdict,) = verdicts(world).values()
        assert bool(verdict.established) is established
        assert [piece.against for piece in verdict.applications["shop"]] == [not established]

    @pytest.mark.parametrize(
        ("topic", "established"),
        [
            ("shop-KSTREAM-REDUCE-STATE-STORE-0000000005-changelog", True),
            ("shop-by-name-repartition", True),
            ("shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", True),
            ("shop-t-by-name-repartition", False),  # application shop-t may have both
            ("shop-eu-KSTREAM-REDUCE-STATE-STORE-0000000005-changelog", False),
            ("shop-orders-changelog", False),  # a person's own topic may be called so
        ],
    )
    def test_internal_topics_tell_where_only_kafka_streams_names_them_so(
        self, world: World, topic: str, established: bool
    ) -> None:
        world.broker.create_topic(topic, 1)
        phantom(world)
        world.consume("shop", users=0)
        (verdict,) = verdicts(world).values()
        assert bool(verdict.established) is established

    def test_a_ksqldb_querys_name_ends_where_its_id_ends(self, world: World) -> None:
        query = "_confluent-ksql-default_query_CTAS_T_0"
        phantom(world, f"{query}-KsqlTopic-Reduce-changelog")
        for application in (query, "_confluent-ksql"):
            world.commit(application, users=0)
        assert decided(world) == (f"{query}/KsqlTopic-Reduce", "users")

    def test_one_that_nobody_listed_is_known_by_its_offsets(self, world: World) -> None:
        survey = world.survey()
        world.commit("shop", users=0)
        applications = Applications(survey, GroupListing(groups=(), problem=None), ())
        assert [piece.kind for piece in applications.evidence("shop")] == ["streams-group"]


pieces = st.lists(
    st.builds(
        lambda kind, weight, against: Evidence(
            kind=kind, topic=Topic("users"), weight=weight, detail="d", against=against
        ),
        st.sampled_from(["explicit", "store-name", "committed-offsets", "schema-similarity"]),
        st.sampled_from(list(Weight)),
        st.booleans(),
    ),
    max_size=8,
)


def hypothesis_of(evidence: list[Evidence]) -> Hypothesis:
    return Hypothesis(store=STORE, topic=Topic("users"), pieces=tuple(evidence))


@pytest.mark.parametrize(("applications", "is_chosen"), [(["shop", "shop"], True), (["shop", "shop-users"], False)])
def test_a_store_that_is_proven_for_two_applications_is_given_to_neither(
    applications: list[str], *, is_chosen: bool
) -> None:
    conclusive = Evidence(kind="topology", topic=Topic("users"), weight=Weight.CONCLUSIVE, detail="d")
    proven = [
        Hypothesis(store=replace(STORE, application=each), topic=Topic("users"), pieces=(conclusive,))
        for each in applications
    ]
    assert choose(proven, doubts=()) == (proven[0] if is_chosen else None)


class TestPoints:
    @given(evidence=pieces)
    def test_saying_the_same_twice_adds_nothing(self, evidence: list[Evidence]) -> None:
        assert hypothesis_of(evidence * 2).points == hypothesis_of(evidence).points

    @given(evidence=pieces)
    def test_what_is_proven_is_not_out(self, evidence: list[Evidence]) -> None:
        made = hypothesis_of(evidence)
        assert not (made.is_proven and made.is_out)

    @given(evidence=pieces, randomness=st.randoms(use_true_random=False))
    def test_their_order_plays_no_part(self, evidence: list[Evidence], randomness: object) -> None:
        shuffled = list(evidence)
        randomness.shuffle(shuffled)  # type: ignore[attr-defined]
        assert hypothesis_of(shuffled).points == hypothesis_of(evidence).points

    def test_weak_evidence_alone_never_reaches_what_is_strong(self) -> None:
        kinds = {rule.kind for rule in RULES if rule.weight is Weight.WEAK and not rule.against}
        assert POINTS[Weight.STRONG] >= MARGIN
        assert not any(
            hypothesis_of([Evidence(kind=kind, topic=Topic("users"), weight=Weight.WEAK, detail="d")]).is_believable
            for kind in kinds
        )


@pytest.mark.core
def test_the_table_of_rules_is_the_one_in_the_design() -> None:
    design = Path(__file__).parents[3] / "DESIGN.md"
    rows = (
        f"| {rule.about} | `{rule.kind}` | {rule.when} | {'against' if rule.against else 'for'} | {rule.weight.value} |"
        for rule in RULES
    )
    table = "\n".join(("| speaks of | kind | what is seen | for or against | weight |", "|---|---|---|---|---|", *rows))
    assert table in design.read_text()


class TestTopicsThatAreTooMany:
    def test_those_whose_records_are_not_read_are_said(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("srfix.recovery.diagnosis.weighing._MOST_PEEKED", 0)
        phantom(world)
        world.commit("shop", users=0, logins=0)
        diagnosis = world.examine().diagnosis
        (skipped,) = [s for s in diagnosis.skipped if "without a subject" in s.what]
        assert skipped.what == "1 topic without a subject, as sources of store t of application shop"
        assert not skipped.could_hide
