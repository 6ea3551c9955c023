"""Names: formed here by Kafka Streams' rules, taken apart by `internal_topics`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.internal_topics import (
    InternalTopic,
    InternalTopicKind,
    application_prefixes,
    automatic_store_source,
    is_internal,
    ksqldb_query,
    parse,
    recognise,
    record_name_subject,
)
from srfix.serde.subjects.names import Role, changelog_topic, subject_for

LEGAL = "abzAZ019._-"
names = st.text(LEGAL, min_size=1, max_size=30)
"""Whatever Kafka allows in a topic name, hyphens and all."""
digits = st.integers(0, 10**10 - 1).map("{:010d}".format)

QUERY = "_confluent-ksql-default_query_CSAS_J_0"


def parsed(topic: str, application: str = "shop") -> InternalTopic:
    found = parse(topic, application=application)
    assert found is not None
    return found


class TestParse:
    @given(application=names, store=names)
    def test_a_changelog_that_was_formed_is_parsed_back(self, application: str, store: str) -> None:
        topic = changelog_topic(application, store)
        found = parsed(topic, application)
        assert (found.topic, found.kind, found.application) == (topic, InternalTopicKind.CHANGELOG, application)
        assert found.store == found.name == store

    @given(
        application=names,
        name=names,
        form=st.sampled_from(
            [
                ("-repartition", InternalTopicKind.REPARTITION),
                ("-subscription-registration-topic", InternalTopicKind.SUBSCRIPTION_REGISTRATION),
                ("-subscription-response-topic", InternalTopicKind.SUBSCRIPTION_RESPONSE),
            ]
        ),
    )
    def test_the_other_kinds_have_a_name_and_no_store(
        self, application: str, name: str, form: tuple[str, InternalTopicKind]
    ) -> None:
        suffix, kind = form
        found = parsed(f"{application}-{name}{suffix}", application)
        assert (found.kind, found.name, found.store) == (kind, name, None)

    @given(application=names, number=digits, side=st.sampled_from(["REGISTRATION", "RESPONSE"]))
    def test_an_unnamed_foreign_key_join_is_recognised(self, application: str, number: str, side: str) -> None:
        rest = f"KTABLE-FK-JOIN-SUBSCRIPTION-{side}-{number}-topic"
        found = parsed(f"{application}-{rest}", application)
        assert (found.kind.name, found.name) == (f"SUBSCRIPTION_{side}", rest)

    @pytest.mark.parametrize("suffix", ["-pk", "-fk", "-vh"])
    @pytest.mark.parametrize(
        "registration",
        ["KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic", "j-subscription-registration-topic"],
    )
    def test_a_pseudo_topic_is_a_registration_topic_with_a_suffix(self, registration: str, suffix: str) -> None:
        found = parsed(f"shop-{registration}{suffix}")
        assert (found.kind, found.store) == (InternalTopicKind.PSEUDO, None)

    @pytest.mark.parametrize(
        "topic",
        [
            "shop-changelog",  # no store
            "shop--changelog",  # an empty one
            "shop-users-changelog-value",  # a subject
            "shopper-users-changelog",  # another application
            "shop-j-subscription-response-topic-pk",  # responses have no pseudo-topics
            "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-x-topic",
            "shop-users",
            "",
        ],
    )
    def test_what_is_not_an_internal_topic_of_the_application_is_none(self, topic: str) -> None:
        assert parse(topic, application="shop") is None

    def test_an_empty_application_owns_nothing(self) -> None:
        assert parse("-users-changelog", application="") is None

    @pytest.mark.parametrize(
        ("application", "store"), [("shop", "users-repartition"), ("shared-CSAS_J_0", "KafkaTopic_Right-Reduce")]
    )
    def test_a_store_named_like_a_suffix_and_one_of_a_named_topology_keep_their_names(
        self, application: str, store: str
    ) -> None:
        assert parsed(f"{application}-{store}-changelog", application).store == store


class TestRecognise:
    @given(topic=st.text(LEGAL, max_size=60))
    def test_a_name_is_recognised_exactly_when_some_application_could_own_it(self, topic: str) -> None:
        owners = [topic[:end] for end in range(1, len(topic)) if parse(topic, application=topic[:end]) is not None]
        assert (recognise(topic) is not None) == bool(owners)

    @given(application=names, store=names)
    def test_every_changelog_is_recognised_without_knowing_the_application(self, application: str, store: str) -> None:
        assert recognise(changelog_topic(application, store)) is InternalTopicKind.CHANGELOG

    @pytest.mark.parametrize("topic", ["users", "db-users", "users-changelog", "-changelog", "a-b-changelogs", ""])
    def test_an_ordinary_topic_is_not_recognised(self, topic: str) -> None:
        assert recognise(topic) is None


class TestApplicationPrefixes:
    def test_they_come_longest_first_and_leave_a_store(self) -> None:
        assert application_prefixes("a-b-c-changelog") == ("a-b", "a")

    def test_an_ordinary_topic_has_none(self) -> None:
        assert application_prefixes("a-b-c") == ()

    def test_an_unnamed_join_is_not_cut_within_its_generated_name(self) -> None:
        topic = "my-app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic-pk"
        assert application_prefixes(topic) == ("my-app", "my")

    @given(application=names, store=names)
    def test_the_true_application_is_always_among_them_and_each_parses(self, application: str, store: str) -> None:
        topic = changelog_topic(application, store)
        prefixes = application_prefixes(topic)
        assert application in prefixes
        assert list(prefixes) == sorted(prefixes, key=len, reverse=True)
        assert all(parse(topic, application=prefix) is not None for prefix in prefixes)


class TestRecordNameSubject:
    @given(application=names, store=names)
    def test_the_topic_stands_before_the_record_name(self, application: str, store: str) -> None:
        topic = changelog_topic(application, store)
        assert record_name_subject(f"{topic}-io.confluent.ksql.avro_schemas.KsqlDataSourceSchema") == topic

    @pytest.mark.parametrize("role", Role)
    def test_a_topic_name_subject_is_not_meant(self, role: Role) -> None:
        assert record_name_subject(subject_for("shop-users-changelog", role)) is None

    @pytest.mark.parametrize(
        "subject",
        ["users-com.acme.User", "users", "shop-j-subscription-registration-topic-pk", "shop-users-changelog"],
    )
    def test_an_ordinary_subject_has_none(self, subject: str) -> None:
        assert record_name_subject(subject) is None


class TestAutomaticStoreSource:
    @given(topic=names, number=digits)
    def test_the_store_of_an_unnamed_table_names_its_topic(self, topic: str, number: str) -> None:
        assert automatic_store_source(f"{topic}-STATE-STORE-{number}") == topic

    @pytest.mark.parametrize(
        "store",
        [
            "KSTREAM-AGGREGATE-STATE-STORE-0000000003",
            "users-KSTREAM-AGGREGATE-STATE-STORE-0000000003",
            "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000003",
            "COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000003",
            "KSTREAM-JOINTHIS-0000000003-store",
            "users-STATE-STORE-3",
            "-STATE-STORE-0000000000",
            "users-store",
        ],
    )
    def test_other_stores_name_none(self, store: str) -> None:
        assert automatic_store_source(store) is None


class TestKsqldbQuery:
    @pytest.mark.parametrize(
        ("name", "query_id", "is_transient"),
        [
            (QUERY, "CSAS_J_0", False),
            ("_confluent-ksql-pksqlc-k8m02query_CTAS_T_5", "CTAS_T_5", False),
            ("_confluent-ksql-my_query_svc_query_INSERTQUERY_7", "INSERTQUERY_7", False),
            ("_confluent-ksql-default_query_MY_OWN", "MY_OWN", False),
            (
                "_confluent-ksql-default_transient_transient_S_42_1600000000",
                "transient_S_42_1600000000",
                True,
            ),
            ("_confluent-ksql-default_transient_7452_1590000000", "7452_1590000000", True),
        ],
    )
    def test_an_application_id_is_taken_apart(self, name: str, query_id: str, is_transient: bool) -> None:
        query = ksqldb_query(name)
        assert query is not None
        assert (query.application, query.query_id, query.is_transient) == (name, query_id, is_transient)

    def test_it_ends_before_the_store_in_a_topic(self) -> None:
        query = ksqldb_query(f"{QUERY}-KafkaTopic_Right-Reduce-changelog")
        assert query is not None
        assert query.application == QUERY

    @pytest.mark.parametrize("name", ["shop", "_confluent-ksql-default__command_topic", f"x{QUERY}", ""])
    def test_other_names_are_none(self, name: str) -> None:
        assert ksqldb_query(name) is None


@pytest.mark.core
class TestIsInternal:
    @pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "_schemas"])
    def test_brokers_and_registries_keep_some_topics_for_themselves(self, topic: str) -> None:
        assert is_internal(topic)

    @pytest.mark.parametrize("topic", ["users", "shop-users-changelog", "_confluent-ksql-default__command_topic"])
    def test_a_topic_that_an_application_could_read_is_not_internal(self, topic: str) -> None:
        assert not is_internal(topic)
