"""Which stores are looked at, for whom, and what is said of those that are not."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from srfix.recovery import Cluster, Survey
from srfix.recovery.commands import CommandLine
from srfix.recovery.diagnosis.candidates import Candidates, find_candidates
from srfix.recovery.diagnosis.weighing import weigh_all
from srfix.serde import AccessDeniedError, Topic, UsageError
from tests.recovery.staging import R
from tests.recovery.world import World, world_fixture, world_of

world = world_fixture({"users": 1, "shop-kept-changelog": 1})


def found(world: World, *, application: str | None = None, store: str | None = None) -> Candidates:
    return find_candidates(world.survey(), application=application, store=store, command_line=CommandLine())


def names(candidates: Candidates) -> list[str]:
    return [suspect.changelog for suspect in candidates.suspects]


def splits(candidates: Candidates) -> list[list[str]]:
    return [[str(split) for split in suspect.splits] for suspect in candidates.suspects]


def hidden(candidates: Candidates) -> list[str]:
    return [skipped.what for skipped in candidates.skipped if skipped.could_hide]


def deny(monkeypatch: pytest.MonkeyPatch, *denied: str) -> None:
    """The broker does not let this user ask about some groups."""
    ask = Cluster.committed_by

    def committed_by(cluster: Cluster, groups: Iterable[str], partitions: Iterable[tuple[str, int]]) -> object:
        answers = dict(ask(cluster, groups, partitions))
        for group in answers.keys() & set(denied):
            answers[group] = AccessDeniedError("No.", acl=f"Describe on group {group!r}")
        return answers

    monkeypatch.setattr(Cluster, "committed_by", committed_by)


class TestFindCandidates:
    @pytest.mark.parametrize("half", ["value", "key"])
    def test_a_changelog_subject_without_a_topic_is_one(self, world: World, half: str) -> None:
        world.registry.seed(f"shop-users-store-changelog-{half}", R)
        world.commit("shop", users=0)
        assert names(found(world)) == ["shop-users-store-changelog"]
        assert hidden(found(world)) == []

    @pytest.mark.parametrize(
        "subject",
        [
            "shop-kept-changelog-value",  # whose topic exists
            "shop-by-name-repartition-value",
            "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic-pk-key",
            "shop-j-subscription-registration-topic-vh-value",
            "users-value",
            "shop-changelog-value",
            "-changelog-value",
        ],
    )
    def test_what_is_no_changelog_or_has_its_topic_is_none(self, world: World, subject: str) -> None:
        world.registry.seed(subject, R)
        world.commit("shop", users=0)
        assert found(world).suspects == ()
        assert hidden(found(world)) == []

    def test_a_phantom_subject_that_is_soft_deleted_whole_is_one(self, world: World) -> None:
        world.registry.seed("shop-users-store-changelog-value", R)
        world.client().delete_version("shop-users-store-changelog-value", 1)
        world.commit("shop", users=0)
        assert names(found(world)) == ["shop-users-store-changelog"]

    def test_a_subject_with_a_record_name_is_said_not_to_be_examined(self, world: World) -> None:
        world.registry.seed("shop-users-store-changelog-com.example.User", R)
        world.registry.seed("shop-kept-changelog-com.example.User", R)
        candidates = found(world)
        assert candidates.suspects == ()
        assert hidden(candidates) == ["subject shop-users-store-changelog-com.example.User"]
        assert "TopicRecordNameStrategy" in next(s.reason for s in candidates.skipped if s.could_hide)

    def test_one_of_another_application_or_of_no_changelog_hides_nothing(self, world: World) -> None:
        world.registry.seed("other-users-store-changelog-com.example.User", R)
        world.registry.seed("shop-by-name-repartition-com.example.User", R)
        world.registry.seed(":.eu:shop-users-store-changelog-com.example.User", R)
        world.commit("shop", users=0)
        assert hidden(found(world, application="shop")) == ["subject :.eu:shop-users-store-changelog-com.example.User"]


class TestTheSplits:
    def test_every_way_to_take_the_name_apart_is_one(self, world: World) -> None:
        world.registry.seed("shop-eu-users-store-changelog-value", R)
        assert splits(found(world)) == [["shop-eu-users/store", "shop-eu/users-store", "shop/eu-users-store"]]

    def test_that_the_cluster_lists_no_groups_is_said_and_hides_all_where_nothing_was_found(self, world: World) -> None:
        """Seen wrong: "nothing is wrong" of an application on 2.7, which leaves no subject of its own."""
        (skipped,) = found(world).skipped  # there is a changelog
        assert (skipped.what, skipped.could_hide) == ("the list of consumer groups", False)
        with world_of({"users": 1}) as other:
            other.commit("shop", users=0)
            assert [each.could_hide for each in found(other).skipped] == [True]
            assert [each.could_hide for each in found(other, application="shop").skipped] == [False]
            other.registry.seed("shop-users-store-changelog-value", R)
            assert [each.could_hide for each in found(other).skipped] == [False]

    @pytest.mark.parametrize(
        "store",
        [
            "KSTREAM-AGGREGATE-STATE-STORE-0000000003",
            "KTABLE-REDUCE-STATE-STORE-0000000012",
            "KSTREAM-TOTABLE-STATE-STORE-0000000004",
            "COGROUPKSTREAM-AGGREGATE-STATE-STORE-0000000004",
            "KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000004",
            "KSTREAM-JOINTHIS-0000000010-store",
            "KSTREAM-OUTERSHARED-0000000010-store",
            "visits-this-join-store",
            "visits-outer-other-join-store",
            "visits-left-shared-join-store",
            "Aggregate-Aggregate-Materialize",
            "Aggregate-Materialize",
            "LeftSourceKeyed-Materialize",
        ],
    )
    def test_an_operators_store_is_none_whatever_the_application(self, world: World, store: str) -> None:
        """Seen wrong: every aggregate store after kafka-streams-application-reset, which deletes the changelogs."""
        world.registry.seed(f"shop-{store}-changelog-value", R)
        world.commit("shop", users=0)
        candidates = found(world)
        assert candidates.suspects == ()
        assert hidden(candidates) == []
        assert "does not restore from a source topic" in candidates.skipped[-1].reason

    def test_the_store_of_an_unnamed_table_is_one(self, world: World) -> None:
        world.registry.seed("shop-users-STATE-STORE-0000000000-changelog-value", R)
        assert names(found(world)) == ["shop-users-STATE-STORE-0000000000-changelog"]

    def test_one_of_a_transient_query_is_none(self, world: World) -> None:
        query = "_confluent-ksql-default_transient_transient_T_4711_1592288000000"
        world.registry.seed(f"{query}-KafkaTopic_Right-Reduce-changelog-value", R)
        assert (found(world).suspects, hidden(found(world))) == ((), [])

    def test_a_source_that_is_named_overrules_a_name(self, world: World) -> None:
        world.registry.seed("shop-visits-this-join-store-changelog-value", R)
        world.sources["visits-this-join-store"] = Topic("users")
        assert names(found(world)) == ["shop-visits-this-join-store-changelog"]


class TestAChangelogThatMayBeHidden:
    def test_its_store_is_no_suspect_and_could_hide_a_finding(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world.registry.seed("shop-users-changelog-value", R)
        world.registry.seed("shop-orders-changelog-value", R)
        world.commit("shop", users=0)
        hide(monkeypatch, "shop-users-changelog")
        candidates = found(world)
        assert names(candidates) == ["shop-orders-changelog"]
        assert hidden(candidates) == ["the subjects of shop-users-changelog"]
        (reason,) = [s.reason for s in candidates.skipped if s.could_hide]
        assert "Ask for the ACL Describe on topic 'shop-users-changelog'" in reason

    def test_a_source_that_is_named_says_that_it_has_none(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        world.registry.seed("shop-users-changelog-value", R)
        world.commit("shop", users=0)
        hide(monkeypatch, "shop-users-changelog")
        world.sources["users"] = Topic("users")
        assert names(found(world)) == ["shop-users-changelog"]


def hide(monkeypatch: pytest.MonkeyPatch, topic: str) -> None:
    """The broker does not let this user ask about a topic, whether it exists or not."""

    def hidden_topics(_cluster: Cluster, topics: Iterable[str]) -> frozenset[str]:
        return frozenset(topics) & {topic}

    monkeypatch.setattr(Cluster, "hidden_topics", hidden_topics)


def weighed(world: World) -> list[tuple[str, ...]]:
    """Per changelog the stores of established applications."""
    survey = world.survey()
    candidates = find_candidates(survey, application=None, store=None, command_line=CommandLine())
    verdicts = weigh_all(candidates.suspects, survey, candidates.applications)
    return [tuple(map(str, verdict.established)) for verdict in verdicts]


class TestManyGroupsAtOnce:
    def test_the_candidates_are_those_of_one_question_after_the_other(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for application in ("a", "a-b", "a-b-c", "gone", "secret", "x-y"):
            for store in ("one", "two-three", "b-c-four"):
                world.registry.seed(f"{application}-{store}-changelog-value", R)
        for group in ("a", "a-b", "x"):
            world.commit(group, users=0)
        deny(monkeypatch, "secret")
        side_by_side = weighed(world)
        monkeypatch.setattr(Survey, "ask_commits", ask_one)
        assert weighed(world) == side_by_side
        assert len([stores for stores in side_by_side if stores]) > 5

    def test_the_broker_is_asked_once_for_all_of_them(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(30):
            world.registry.seed(f"gone-{number}-store-changelog-value", R)
        asked: list[list[str]] = []
        ask = Cluster.committed_by

        def committed_by(cluster: Cluster, groups: Iterable[str], partitions: Iterable[tuple[str, int]]) -> object:
            asked.append(list(groups))
            return ask(cluster, asked[-1], partitions)

        monkeypatch.setattr(Cluster, "committed_by", committed_by)
        found(world)
        (together,) = asked
        assert {"gone", "gone-0", "gone-29"} <= set(together)


def ask_one(survey: Survey, groups: Iterable[str]) -> None:
    """Leaves it to whoever wants the offsets of a group to ask for them."""
    asked = tuple(groups)
    if len(asked) == 1:
        ASK(survey, asked)


ASK = Survey.ask_commits


class TestAnApplicationThatIsNamed:
    def test_only_its_own_subjects_are_looked_at(self, world: World) -> None:
        world.registry.seed("shop-users-changelog-value", R)
        world.registry.seed("other-users-changelog-value", R)
        assert splits(found(world, application="shop")) == [["shop/users"]]
        assert hidden(found(world, application="shop")) == []

    def test_what_may_be_anothers_is_a_suspect_with_all_its_splits(self, world: World) -> None:
        world.registry.seed("shop-users-changelog-value", R)
        world.registry.seed("shop-eu-users-changelog-value", R)
        candidates = found(world, application="shop")
        assert splits(candidates) == [["shop-eu/users", "shop/eu-users"], ["shop/users"]]
        assert splits(found(world, application="shop", store="eu-users")) == [["shop/eu-users"]]

    def test_one_without_group_and_subject_is_refused_and_one_with_a_group_has_no_candidates(
        self, world: World
    ) -> None:
        world.commit("shop", users=0)
        assert found(world, application="shop").suspects == ()
        with pytest.raises(UsageError, match=r"^There is no application 'shopp': no consumer group of that name"):
            found(world, application="shopp")

    def test_a_misspelt_one_may_be_that_of_a_subject(self, world: World) -> None:
        world.registry.seed("warehouse-users-changelog-value", R)
        with pytest.raises(UsageError, match=r" Did you mean 'warehouse'\? Check the "):
            found(world, application="warehuose")


class TestAStoreThatIsNamed:
    @pytest.mark.parametrize(
        ("store", "said"), [("ordres", r"Did you mean 'orders'\? If its "), ("x", r"--application ID --store NAME\.$")]
    )
    def test_one_that_nobody_knows_is_refused_a_misspelt_one_with_a_suggestion(
        self, world: World, store: str, said: str
    ) -> None:
        world.registry.seed("shop-orders-changelog-value", R)
        with pytest.raises(UsageError, match=rf"^No store '{store}' was found: .* {said}"):
            found(world, store=store)

    def test_only_that_store_is_looked_at(self, world: World) -> None:
        world.registry.seed("shop-users-changelog-value", R)
        world.registry.seed("shop-orders-changelog-value", R)
        world.commit("shop", users=0)
        assert splits(found(world, store="orders")) == [["shop/orders"]]

    def test_with_its_application_it_needs_no_subject(self, world: World) -> None:
        assert splits(found(world, application="shop", store="users")) == [["shop/users"]]

    def test_one_with_a_changelog_of_its_own_is_said_to_have_it(self, world: World) -> None:
        world.commit("shop", users=0)
        candidates = found(world, application="shop", store="kept")
        assert candidates.suspects == ()
        assert "it restores from its own changelog topic, shop-kept-changelog" in candidates.skipped[-1].reason
        assert hidden(candidates) == []
