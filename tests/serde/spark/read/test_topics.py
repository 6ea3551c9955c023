"""Which plan reads which topic.

| plans | topics |
|---|---|
| one | its own; any, where ids are looked up without a subject |
| a sequence | each plan's own |
| a mapping | its keys |
"""

from __future__ import annotations

import json
import re

import pytest

from srfix.serde import ColumnError, RegistryClient, Role, TopicSubject, UnderOneSubject, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.spark import ReadPlan, from_registry, plan_read
from srfix.serde.spark.read.topics import Plans, is_topic_of, kafka_options, topic_plans, topics_asked


def plan(topic: str, columns: str = "ID BIGINT, NAME STRING", role: Role = Role.VALUE) -> ReadPlan:
    """A plan without schemas: of any topic."""
    return plan_read(None, topic, columns, format=Format.JSON, role=role)


@pytest.fixture
def bound(client: RegistryClient) -> ReadPlan:
    """A plan that asks the subjects of one topic."""
    policy = UnderOneSubject(client, TopicSubject())
    return plan_read(client, "users", "ID BIGINT", policy=policy, missing_columns="null")


class TestTopicPlans:
    def test_a_sequence_is_by_the_plans_topics_and_a_mapping_by_its_keys(self) -> None:
        users, orders = plan("users"), plan("orders")
        assert topic_plans([users, orders]).by_topic == {"users": users, "orders": orders}
        assert topic_plans({"users-retry": users}).by_topic == {"users-retry": users}

    def test_topics_of_one_plan_share_it(self) -> None:
        users, orders = plan("users"), plan("orders")
        found = topic_plans({"users": users, "orders": orders, "users-retry": plan("users")})
        assert found.shared == ((users, ("users", "users-retry")), (orders, ("orders",)))

    def test_a_row_has_the_columns_of_all(self) -> None:
        found = topic_plans([plan("users", "ID BIGINT, NAME STRING"), plan("orders", "SUM DOUBLE, ID BIGINT")])
        assert [column.name for column in found.columns] == ["ID", "NAME", "SUM"]
        assert topic_plans([plan(f"t{number}") for number in range(5)]).name == "t0, t1, t2 and 2 more"

    @pytest.mark.parametrize(
        ("plans", "message"),
        [
            ([], "There is no plan"),
            ({"": plan("users")}, "'' is not a topic's name"),
            ({None: plan("users")}, "None is not a topic's name"),
            (["users"], "A plan must come from plan_read, but this is str"),
            ([plan("users"), plan("users", "ID INT")], "Two plans are for the topic 'users'"),
            (
                [plan("users"), plan("orders", "K STRING KEY", Role.KEY)],
                "Some plans read keys, and other plans read values",
            ),
        ],
    )
    def test_what_is_no_set_of_plans_is_refused(self, plans: list[ReadPlan], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            topic_plans(plans)

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ("ID STRING", "The column ID is BIGINT in the topic 'users' and STRING in 'orders'"),
            ("`id` BIGINT", "ID of the topic 'users' and id of 'orders' differ only in letter case"),
        ],
    )
    def test_columns_that_do_not_go_together_are_refused(self, other: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            from_registry([plan("users"), plan("orders", other)])

    @pytest.mark.parametrize("kind", ["dict_values", "generator", "set"])
    def test_plans_in_something_else_than_a_list_are_called_that(self, kind: str) -> None:
        plans = {"dict_values": {1: plan("a")}.values(), "generator": (one for one in [plan("a")]), "set": {plan("a")}}
        with pytest.raises(UsageError, match=rf"from_registry was given {kind}, which is no"):
            from_registry(plans[kind])  # type: ignore[call-overload]

    def test_a_column_is_read_by_one_plan(self) -> None:
        with pytest.raises(UsageError, match=r"A plan must come from plan_read, but this is list\. from_registry for"):
            from_registry("value", [plan("a"), plan("b")])  # type: ignore[call-overload]

    def test_a_column_is_read_by_a_plan_or_by_a_subject_named_after_its_topic_and_a_registry(
        self, client: RegistryClient
    ) -> None:
        with pytest.raises(
            UsageError, match=r"The subject User is not named like one of a topic's .*subjects=\['User'\]"
        ):
            from_registry("value", "User", client)
        with pytest.raises(UsageError, match=r"need a schema registry"):
            from_registry("value", "users-value")
        with pytest.raises(UsageError, match=r"plans need none"):
            from_registry("value", plan("a"), client)


class TestTopicsAsked:
    def test_an_assignment_names_partitions_of_topics(self) -> None:
        asked = topics_asked([plan("a"), plan("b")], assign={"a": [2, 0, 2], "b": range(2)})
        assert (asked.option, asked.topics) == ("assign", ("a", "b"))
        assert json.loads(asked.value) == {"a": [0, 2], "b": [0, 1]}

    @pytest.mark.parametrize(
        ("parameter", "options"),
        [("subscribe_pattern", {"subscribe_pattern": ".*"}), ("assign", {"assign": {"a": [0]}})],
    )
    def test_one_that_asks_its_topics_subjects_does_not(
        self, bound: ReadPlan, parameter: str, options: dict[str, str]
    ) -> None:
        with pytest.raises(UsageError, match=rf"{parameter}= may give rows of any topic,"):
            topics_asked(bound, **options)  # type: ignore[arg-type]
        assert topics_asked({"users": bound}, subscribe_pattern=".*").option == "subscribePattern"

    @pytest.mark.parametrize(
        ("plans", "options", "message"),
        [
            (plan("a"), {"subscribe_pattern": "a", "assign": {"a": [0]}}, "each choose the topics to read"),
            (plan("a"), {"subscribe_pattern": ""}, "is empty"),
            (plan("a"), {"assign": {}}, "does not name the topic 'a'"),
            ([plan("a")], {"assign": {"A": [0]}}, "names the topic 'A', which has no plan; there are plans for a"),
            ([plan("a"), plan("b")], {"assign": {"a": [0]}}, "does not name the topic 'b'"),
            (plan("a"), {"assign": {"a": []}}, "names no partitions of the topic 'a'"),
            (plan("a"), {"assign": {"a": [2**31]}}, "names no partitions of the topic 'a'"),
            (plan("a"), {"assign": {"a": "01"}}, "names no partitions of the topic 'a'"),
            (plan("a"), {"assign": "a"}, "is a mapping from topics to partitions, {'users': [0, 2]}, not str"),
            (plan("a"), {"subscribe_pattern": re.compile("a")}, "subscribe_pattern= is a string, not Pattern"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, plans: Plans, options: dict[str, str], message: str) -> None:
        with pytest.raises(UsageError, match=re.escape(message)):
            topics_asked(plans, **options)  # type: ignore[arg-type]


class TestWords:
    """What errors call the topics, and what is said of a pattern or an assignment that Spark refuses."""

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({}, "one of the topics 'a', 'b'"),
            ({"assign": {"a": [0], "b": [0]}}, "one of the topics 'a', 'b'"),
            ({"subscribe_pattern": "a|b"}, "a topic that matches 'a|b'"),
        ],
    )
    def test_several_topics_are_not_one_of_a_long_name(self, options: dict[str, str], words: str) -> None:
        asked = topics_asked([plan("a"), plan("b")], **options)  # type: ignore[arg-type]
        assert asked.words == words
        assert topics_asked(plan("a")).words == "the topic 'a'"

    def test_javas_word_on_a_pattern_is_repeated_in_a_sentence(self) -> None:
        asked = topics_asked([plan("a")], subscribe_pattern="(")
        said = "java.util.regex.PatternSyntaxException: Unclosed group near index 1\n(\n\tat java.base/java.util.regex"
        error = asked.error_of(said)
        assert error is not None
        assert "subscribe_pattern= is not a Java regular expression:" in error.message
        assert topics_asked([plan("a")]).error_of(said) is None
        assert asked.error_of("something else") is None


def test_offsets_of_partitions_of_nobody_are_refused() -> None:
    asked = topics_asked([plan("a"), plan("b")])
    with pytest.raises(UsageError, match="starting_offsets= names no topics, but several"):
        kafka_options(asked, bootstrap_servers="b:9092", starting_offsets={0: 1}, ending_offsets=None, options={})


class TestPattern:
    def test_it_is_the_whole_name_and_letter_case_counts(self) -> None:
        assert [is_topic_of("user.", topic) for topic in ("users", "users2", "Users")] == [True, False, False]

    def test_what_is_none_is_refused(self) -> None:
        with pytest.raises(UsageError, match="subscribePattern must be a regular expression for"):
            is_topic_of("(", "users")
