"""Subject names."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import UsageError
from srfix.serde.subjects import (
    ChangelogSubject,
    FixedSubject,
    Role,
    SubjectStrategy,
    TopicSubject,
    changelog_topic,
    role_of,
    split_subject,
    subject_for,
)

topics = st.text(min_size=1)
roles = st.sampled_from(Role)


class TestRoleOf:
    @pytest.mark.parametrize("role", Role)
    def test_it_knows_both_fields_by_name_and_as_roles(self, role: Role) -> None:
        assert role_of(role.value) is role_of(role) is role

    def test_another_field_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match=r"^A serde is called for the field 'none'; it knows 'key' and 'value'"):
            role_of("none")


class TestSplitSubject:
    @given(topics, roles)
    def test_it_undoes_subject_for(self, topic: str, role: Role) -> None:
        assert split_subject(subject_for(topic, role)) == (topic, role)

    @pytest.mark.parametrize("subject", ["", "-value", "-key", "orders", "orders-Value", "com.example.Order"])
    def test_what_is_no_topic_name_subject_is_none(self, subject: str) -> None:
        assert split_subject(subject) is None

    def test_a_topic_may_itself_end_in_a_role(self) -> None:
        assert split_subject("orders-value-key") == ("orders-value", Role.KEY)


class TestChangelogTopic:
    def test_it_is_named_as_kafka_streams_names_it(self) -> None:
        application = "_confluent-ksql-default_query_CSAS_J_0"
        topic = changelog_topic(application, "KafkaTopic_Right-Reduce")
        assert topic == "_confluent-ksql-default_query_CSAS_J_0-KafkaTopic_Right-Reduce-changelog"


class TestStrategies:
    def test_topic_subject_follows_the_topic(self) -> None:
        assert TopicSubject()("orders", Role.KEY) == "orders-key"

    def test_changelog_subject_ignores_the_topic(self) -> None:
        strategy = ChangelogSubject(application="app", store="store")
        assert strategy("orders", Role.VALUE) == "app-store-changelog-value"

    def test_fixed_subject_has_one_for_each_role(self) -> None:
        strategy = FixedSubject(value="v", key="k")
        assert (strategy("orders", Role.VALUE), strategy("orders", Role.KEY)) == ("v", "k")

    def test_fixed_subject_without_the_role_says_what_to_pass(self) -> None:
        with pytest.raises(UsageError, match=r"pass FixedSubject\(key=…\)\.$"):
            FixedSubject(value="v")("orders", Role.KEY)

    @pytest.mark.parametrize(
        "strategy", [TopicSubject(), FixedSubject(value="v"), ChangelogSubject(application="a", store="s")]
    )
    def test_every_strategy_travels_to_another_process(self, strategy: SubjectStrategy) -> None:
        assert pickle.loads(pickle.dumps(strategy)) == strategy
