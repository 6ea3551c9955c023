"""Subject names."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from srfix.serde import (
    ApartFromTopicSubject,
    Changelog,
    ChangelogSubject,
    FixedSubject,
    MappedSubject,
    RecordSubject,
    Role,
    Subject,
    TemplateSubject,
    TopicRecordSubject,
    TopicSubject,
    UsageError,
)
from srfix.serde.subjects.names import (
    SubjectStrategy,
    has_prefix,
    join_context,
    role_of,
    same_subject,
    split_context,
    split_subject,
    subject_for,
)
from srfix.serde.subjects.strategies import needs_record, subject_of

topics = st.text(min_size=1)
roles = st.sampled_from(Role)


class TestRoleOf:
    def test_another_field_is_a_usage_error(self) -> None:
        with pytest.raises(UsageError, match="A serde was called for the field 'none', but it knows"):
            role_of("none")
        assert [role_of(role.value) for role in Role] == [role_of(role) for role in Role] == list(Role)


class TestSplitSubject:
    @given(topics, roles)
    def test_it_undoes_subject_for(self, topic: str, role: Role) -> None:
        assert split_subject(subject_for(topic, role)) == (topic, role)

    @pytest.mark.parametrize("subject", ["", "-value", "-key", "orders", "orders-Value", "com.example.Order"])
    def test_what_is_no_topic_name_subject_is_none(self, subject: str) -> None:
        assert split_subject(subject) is None


contexts = st.text(st.characters(exclude_characters=":")).map(lambda name: f".{name}") | st.just("*")
"""Confluent's rule: a dot first, no colon; and the wildcard of searches."""


class TestContexts:
    """Confluent's `QualifiedSubject`.

    | subject | context | name |
    |---|---|---|
    | `a` | `.` | `a` |
    | `:.:a` | `.` | `a` |
    | `:.ctx:a` | `.ctx` | `a` |
    | `:.ctx:a:b` | `.ctx` | `a:b` |
    | `:.ctx` | `.ctx` | |
    | `:*:a` | `*` | `a` |
    | `:a`, `a:.ctx:b` | `.` | the whole |
    """

    @pytest.mark.parametrize(
        ("subject", "context", "name"),
        [
            ("a", ".", "a"),
            ("", ".", ""),
            (":.:a", ".", "a"),
            (":.ctx:a", ".ctx", "a"),
            (":.ctx:a:b", ".ctx", "a:b"),
            (":.ctx:", ".ctx", ""),
            (":.ctx", ".ctx", ""),
            (":*:a", "*", "a"),
            (":*", ".", ":*"),
            (":x-value", ".", ":x-value"),
            ("a:.ctx:b", ".", "a:.ctx:b"),
        ],
    )
    def test_a_subject_is_split_as_confluent_does(self, subject: str, context: str, name: str) -> None:
        assert split_context(subject) == (context, name)

    @given(contexts, st.text())
    @example(".", ":.ctx:a")
    @example(".", ":*:a")
    def test_splitting_undoes_joining(self, context: str, name: str) -> None:
        assert split_context(join_context(context, name)) == (context, name)

    @pytest.mark.parametrize("context", ["", "ctx", ".a:b", ":.ctx:", "**"])
    def test_what_is_no_context_is_refused(self, context: str) -> None:
        with pytest.raises(UsageError, match="is not a registry context: a context begins with a dot and"):
            join_context(context, "a")

    @given(contexts, st.text())
    def test_a_subject_is_itself_however_it_is_written(self, context: str, name: str) -> None:
        assert same_subject(f":{context}:{name}", join_context(context, name))
        assert not same_subject(f":.x{context}:{name}", join_context(context, name))

    @pytest.mark.parametrize(
        ("prefix", "found"),
        [
            ("A", ["A-value", "A2-value"]),
            (":.:A", ["A-value", "A2-value"]),
            ("", ["A-value", "A2-value", "x", ":x"]),
            (":.ctx:", [":.ctx:A-value"]),
            (":.ctx", [":.ctx:A-value"]),
            (":.ct", []),
            (":*:A", ["A-value", "A2-value", ":.ctx:A-value"]),
            (":*:", ["A-value", "A2-value", ":.ctx:A-value", "x", ":x"]),
            (":x", [":x"]),
        ],
    )
    def test_a_search_stays_in_one_context_unless_it_names_all(self, prefix: str, found: list[str]) -> None:
        """Recorded of 7.9.9 and 8.2.1: A, :.ctx: and :*:A."""
        subjects = ["A-value", "A2-value", ":.ctx:A-value", "x", ":x"]
        assert [subject for subject in subjects if has_prefix(subject, prefix)] == found


class TestStrategies:
    def test_changelog_subject_ignores_the_topic(self) -> None:
        strategy = ChangelogSubject(application="app", store="store")
        assert (
            strategy("orders", Role.VALUE) == Changelog("app", "store")("x", Role.VALUE) == "app-store-changelog-value"
        )
        assert ApartFromTopicSubject(strategy)("orders", Role.VALUE) == "app-store-changelog-value"

    def test_fixed_subject_without_the_role_says_what_to_pass(self) -> None:
        assert FixedSubject(value="v", key="k")("orders", Role.KEY) == "k"
        with pytest.raises(UsageError, match=r"pass FixedSubject\(key=…\)\.$"):
            FixedSubject(value="v")("orders", Role.KEY)

    @pytest.mark.parametrize(
        "strategy",
        [
            TopicSubject(),
            RecordSubject(),
            TopicRecordSubject(),
            FixedSubject(value="v"),
            ChangelogSubject(application="a", store="s"),
            TemplateSubject("{topic}-{role}"),
            MappedSubject(value={"orders": "o"}, fallback=TopicSubject()),
            ApartFromTopicSubject(FixedSubject(value="v")),
        ],
    )
    def test_every_strategy_travels_to_another_process(self, strategy: SubjectStrategy) -> None:
        again = pickle.loads(pickle.dumps(strategy))
        assert again == strategy
        assert hash(again) == hash(strategy)


class TestOfRecords:
    """RecordNameStrategy and TopicRecordNameStrategy: what `ParsedSchema.name` tells, or a refusal."""

    @pytest.mark.parametrize("role", Role)
    def test_the_name_is_the_subject(self, role: Role) -> None:
        assert RecordSubject()("orders", role, "com.example.Order") == "com.example.Order"
        assert TopicRecordSubject()("orders", role, "com.example.Order") == "orders-com.example.Order"

    @pytest.mark.parametrize("strategy", [RecordSubject(), TopicRecordSubject(), TemplateSubject("x-{record}")])
    @pytest.mark.parametrize("record", [None, ""])
    def test_without_a_name_it_is_refused_as_there(
        self, strategy: RecordSubject | TopicRecordSubject | TemplateSubject, record: str | None
    ) -> None:
        with pytest.raises(UsageError, match="the key of topic 'orders' has no record name"):
            strategy("orders", Role.KEY, record)


class TestSubjectOf:
    def test_a_name_is_asked_for_only_where_it_is_needed(self) -> None:
        asked: list[str] = []

        def record() -> str:
            asked.append("asked")
            return "R"

        def function(topic: str, role: Role) -> Subject:
            return Subject(topic)

        plain: list[SubjectStrategy] = [TopicSubject(), TemplateSubject("{topic}"), function]
        assert [subject_of(strategy, "t", Role.KEY, record) for strategy in plain] == ["t-key", "t", "t"]
        assert asked == []
        assert subject_of(TopicRecordSubject(), "t", Role.KEY, record) == "t-R"

    @pytest.mark.parametrize(
        "outer",
        [
            MappedSubject(value={"orders": "o"}, fallback=RecordSubject()),
            ApartFromTopicSubject(RecordSubject()),
            ApartFromTopicSubject(MappedSubject(fallback=TemplateSubject("{record}"))),
        ],
    )
    def test_a_strategy_around_others_passes_the_name_on(self, outer: SubjectStrategy) -> None:
        assert needs_record(outer)
        assert subject_of(outer, "payments", Role.VALUE, lambda: "R") == "R"


class TestTemplateSubject:
    @pytest.mark.parametrize(
        ("template", "subject"),
        [
            ("{topic}-{role}", "orders-value"),
            (":.staging:{topic}-{role}", ":.staging:orders-value"),
            ("{record}", "com.R"),
            ("{{{topic}}}-{{x}}", "{orders}-{x}"),
            ("fixed", "fixed"),
        ],
    )
    def test_the_placeholders_are_filled_and_doubled_braces_are_braces(self, template: str, subject: str) -> None:
        assert TemplateSubject(template)("orders", Role.VALUE, "com.R") == subject

    @pytest.mark.parametrize(
        ("template", "message"),
        [
            ("{topik}-value", r"has the placeholder \{topik\}; there are"),
            ("{topic.__class__}", r"has the placeholder \{topic\.__class__\}; there are"),
            ("{topic!r}", r"has the placeholder \{topic\} with a format or conversion; there are"),
            ("a}b", r"cannot be read \(.+\)\. Double the braces"),
            ("", r"is empty\. Give one, such as"),
        ],
    )
    def test_anything_else_is_refused_when_it_is_made(self, template: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            TemplateSubject(template)

    @given(st.text().filter(lambda text: text != ""), topics, roles)
    def test_any_text_with_its_braces_doubled_is_itself(self, text: str, topic: str, role: Role) -> None:
        assert TemplateSubject(text.replace("{", "{{").replace("}", "}}"))(topic, role) == text


@pytest.mark.core
class TestMappedSubject:
    def test_a_table_for_each_half(self) -> None:
        strategy = MappedSubject(value={"orders": "shop-order"}, key={"orders": "shop-order-id"})
        assert strategy("orders", Role.VALUE) == "shop-order"
        assert strategy("orders", Role.KEY) == "shop-order-id"

    def test_a_function_says_none_where_it_has_none(self) -> None:
        strategy = MappedSubject(value=lambda topic: f"internal-{topic}" if topic == "orders" else None)
        assert strategy("orders", Role.VALUE) == "internal-orders"
        with pytest.raises(UsageError):
            strategy("payments", Role.VALUE)

    @pytest.mark.parametrize(("topic", "role"), [("payments", Role.VALUE), ("orders", Role.KEY)])
    def test_what_is_not_mapped_is_refused(self, topic: str, role: Role) -> None:
        with pytest.raises(UsageError, match=f"No subject is mapped for the {role.value} of topic '{topic}'"):
            MappedSubject(value={"orders": "o"})(topic, role)

    def test_the_table_is_a_copy(self) -> None:
        table = {"orders": "o"}
        strategy = MappedSubject(value=table)
        table["orders"] = "changed"
        assert strategy("orders", Role.VALUE) == "o"


class TestApartFromTopicSubject:
    @pytest.mark.parametrize(
        "strategy", [TopicSubject(), FixedSubject(value="orders-value"), FixedSubject(value=":.:orders-value")]
    )
    def test_the_topics_own_is_refused(self, strategy: SubjectStrategy) -> None:
        with pytest.raises(UsageError, match="orders-value' is the subject of topic 'orders' itself"):
            ApartFromTopicSubject(strategy)("orders", Role.VALUE)
