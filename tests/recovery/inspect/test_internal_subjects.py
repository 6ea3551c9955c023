"""What an internal-looking subject is, from listings alone."""

from __future__ import annotations

from typing import Any

import pytest

from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.inspect.internal_subjects import (
    ListedSubject,
    SubjectClass,
    classify,
    list_internal_subjects,
)
from srfix.recovery.registry import usable
from tests.recovery.staging import R
from tests.recovery.world import world_of

AGGREGATE = "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"
NOBODY = GroupListing(groups=(), problem=None)
UNKNOWN = GroupListing(groups=(), problem="the cluster does not list its groups")
SHOP = GroupListing(groups=("shop", "shop-users"), problem=None)


def classified(subject: str, groups: GroupListing = SHOP, **how: Any) -> ListedSubject:
    found = classify(subject, **{"topics": (), "groups": groups, "is_live": True, "schema_ids": None, **how})
    assert found is not None
    return found


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
            (NOBODY, (), SubjectClass.PHANTOM),  # a stopped application's offsets expire, and its group with them
            (NOBODY, ("shop-a-changelog",), SubjectClass.CHANGELOG),
        ],
    )
    def test_topic_and_group_decide(self, groups: GroupListing, topics: tuple[str, ...], kind: SubjectClass) -> None:
        assert classified("shop-a-changelog-value", groups, topics=topics).kind is kind

    def test_the_longest_listed_group_is_the_application(self) -> None:
        found = classified("shop-users-a-changelog-key", is_live=False, schema_ids=(7,))
        assert (found.application, found.store, found.is_live, found.schema_ids) == ("shop-users", "a", False, [7])
        assert found.next == "srfix diagnose --application shop-users --store a"

    def test_an_application_that_is_named_goes_first_and_is_no_orphan(self) -> None:
        found = classified("shop-users-a-changelog-value", NOBODY, application="shop")
        assert (found.kind, found.application, found.store) == (SubjectClass.PHANTOM, "shop", "users-a")

    def test_what_the_signs_call_an_orphan_is_one_of_the_application_that_they_name(self) -> None:
        found = classified("shop-a-b-repartition-value", NOBODY, orphan_of="shop")
        assert (found.kind, found.application, found.next) == (SubjectClass.ORPHAN, "shop", "srfix explain SRF009")

    def test_a_command_to_copy_is_quoted(self) -> None:
        assert classified("shop-a b-changelog-value").next == "srfix diagnose --application shop --store 'a b'"

    def test_a_context_is_no_part_of_the_topic(self) -> None:
        found = classified(":.dr:shop-a-changelog-value")
        assert (found.topic, found.application) == ("shop-a-changelog", "shop")

    def test_ids_in_another_context_are_not_known(self) -> None:
        with world_of({"users": 1}) as world:
            for context in ("", ":.dr:"):
                world.registry.seed(f"{context}shop-a-changelog-value", R)
            listed = list_internal_subjects(world.cluster, usable(world.client())).subjects
        assert [each.schema_ids for each in listed] == [None, [1]]


class TestOrphans:
    """Those that a diagnosis calls litter (SRF009), and no others."""

    @pytest.mark.parametrize(
        ("left", "topic", "lives", "is_orphan"),
        [
            (AGGREGATE, None, None, True),
            ("shop-by-name-repartition", None, None, True),
            (AGGREGATE, None, "listed", False),
            (AGGREGATE, None, "commits", False),
            (AGGREGATE, "shop-other-repartition", None, False),
            ("shop-other-store-changelog", None, None, False),
        ],
    )
    def test_they_are_those_of_the_diagnosis(
        self, left: str, topic: str | None, lives: str | None, is_orphan: bool
    ) -> None:
        with world_of({"users": 1} | ({} if topic is None else {topic: 1})) as world:
            for subject in (f"{left}-value", "shop-users-store-changelog-value"):
                world.registry.seed(subject, R)
            if lives == "commits":
                world.commit("shop", users=0)
            world.listing("shop" if lives == "listed" else "tills")
            found = list_internal_subjects(world.cluster, usable(world.client())).subjects
            of_diagnosis = {each.subject for each in world.examine().diagnosis.findings if each.code == "SRF009"}
        called = {each.subject for each in found if each.kind is SubjectClass.ORPHAN}
        assert called == of_diagnosis
        assert bool(called) is is_orphan

    def test_groups_that_are_not_listed_whole_make_none(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(f"{AGGREGATE}-value", R)
            (found,) = list_internal_subjects(world.cluster, usable(world.client())).subjects
        assert found.kind is SubjectClass.PHANTOM


class TestGroupsThatAreNotListed:
    @pytest.mark.parametrize(
        ("application", "says"),
        [
            (None, "name an application with --application"),
            ("shop", "so srfix does not know whether the application 'shop' is gone"),
        ],
    )
    def test_the_advice_is_one_that_was_not_followed_yet(self, application: str | None, says: str) -> None:
        with world_of({"users": 1}) as world:
            registry = usable(world.client())
            (of_none,) = list_internal_subjects(world.cluster, registry, application=application).skipped
            world.registry.seed("shop-a-changelog-value", R)
            (of_one,) = list_internal_subjects(world.cluster, registry, application=application).skipped
        assert of_one.reason.partition("; ")[2] == says
        assert (of_none.could_hide, of_one.could_hide) == (False, True)
