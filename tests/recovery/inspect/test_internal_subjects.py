"""What an internal-looking subject is, from listings alone."""

from __future__ import annotations

import pytest

from srfix.recovery.cluster.cluster import GroupListing
from srfix.recovery.inspect.internal_subjects import SubjectClass, classify

NOBODY = GroupListing(groups=(), problem=None)
UNKNOWN = GroupListing(groups=(), problem="the cluster does not list its groups")
SHOP = GroupListing(groups=("shop", "shop-users"), problem=None)


class TestClassify:
    @pytest.mark.parametrize("subject", ["users-value", "users", "changelog-value", "-changelog-value", "a.b.C"])
    def test_a_subject_of_a_plain_topic_is_none(self, subject: str) -> None:
        assert classify(subject, topics=(), groups=NOBODY, is_live=True, schema_ids=()) is None

    @pytest.mark.parametrize(
        ("groups", "topics", "kind"),
        [
            (SHOP, ("shop-a-changelog",), SubjectClass.CHANGELOG),
            (SHOP, (), SubjectClass.PHANTOM),
            (UNKNOWN, (), SubjectClass.PHANTOM),  # a list that is denied makes no orphans
            (NOBODY, (), SubjectClass.ORPHAN),
            (NOBODY, ("shop-a-changelog",), SubjectClass.CHANGELOG),
        ],
    )
    def test_topic_and_group_decide(self, groups: GroupListing, topics: tuple[str, ...], kind: SubjectClass) -> None:
        found = classify("shop-a-changelog-value", topics=topics, groups=groups, is_live=True, schema_ids=None)
        assert found is not None
        assert found.kind is kind

    def test_the_longest_listed_group_is_the_application(self) -> None:
        found = classify("shop-users-a-changelog-key", topics=(), groups=SHOP, is_live=False, schema_ids=(7,))
        assert found is not None
        assert (found.application, found.store, found.is_live, found.schema_ids) == ("shop-users", "a", False, (7,))
        assert found.next == "srfix diagnose --application shop-users --store a"

    def test_an_application_that_is_named_goes_first_and_is_no_orphan(self) -> None:
        found = classify(
            "shop-users-a-changelog-value",
            topics=(),
            groups=NOBODY,
            is_live=True,
            schema_ids=None,
            application="shop",
        )
        assert found is not None
        assert (found.kind, found.application, found.store) == (SubjectClass.PHANTOM, "shop", "users-a")

    def test_a_command_to_copy_is_quoted(self) -> None:
        found = classify("shop-a b-changelog-value", topics=(), groups=SHOP, is_live=True, schema_ids=None)
        assert found is not None
        assert found.next == "srfix diagnose --application shop --store 'a b'"

    def test_a_context_is_no_part_of_the_topic(self) -> None:
        found = classify(":.dr:shop-a-changelog-value", topics=(), groups=SHOP, is_live=True, schema_ids=None)
        assert found is not None
        assert (found.topic, found.application) == ("shop-a-changelog", "shop")
