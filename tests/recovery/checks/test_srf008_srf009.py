"""SRF008 and SRF009: what applications leave behind, told from what living and stopped ones have."""

from __future__ import annotations

import pytest

from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.findings import Diagnosis, Severity
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo
from srfix.serde.errors import UsageError
from tests.recovery.staging import W1, R
from tests.recovery.world import World, world_of

REGISTRATION = "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"
PSEUDO = {f"{REGISTRATION}-pk-key", f"{REGISTRATION}-fk-key", f"{REGISTRATION}-vh-value"}
AGGREGATE = "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"
QUERY = "_confluent-ksql-default_query_CTAS_T_7"


def codes(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    return {(finding.code, finding.subject) for finding in diagnosis.findings}


def told_of(diagnosis: Diagnosis, word: str) -> list[str]:
    return [skipped.what for skipped in diagnosis.skipped if word in skipped.what]


def with_pseudo_topics(world: World) -> None:
    for subject in PSEUDO:
        world.registry.seed(subject, W1)


class TestForeignKeyJoins:
    def test_a_living_one_gives_no_finding_and_is_not_left_unlooked_at(self) -> None:
        with world_of({"users": 1, REGISTRATION: 1}) as world:
            with_pseudo_topics(world)
            world.commit("shop", users=0)
            world.listing("shop")
            diagnosis = world.examine().diagnosis
        assert (diagnosis.findings, diagnosis.skipped) == ((), ())

    def test_one_that_a_living_application_no_longer_has_is_a_note(self) -> None:
        with world_of({"users": 1}) as world:
            with_pseudo_topics(world)
            world.commit("shop", users=0)
            world.listing("shop")
            diagnosis = world.examine().diagnosis
        assert codes(diagnosis) == {("SRF008", subject) for subject in PSEUDO}
        assert {finding.severity for finding in diagnosis.findings} == {Severity.NOTE}
        assert not diagnosis.has_findings
        assert not diagnosis.is_inconclusive

    def test_that_of_an_application_that_is_gone_is_litter(self) -> None:
        with world_of({"users": 1}) as world:
            with_pseudo_topics(world)
            world.listing("tills")
            diagnosis = world.examine().diagnosis
        assert codes(diagnosis) == {("SRF009", subject) for subject in PSEUDO}
        assert {finding.severity for finding in diagnosis.findings} == {Severity.LITTER}


class TestOrphans:
    def test_what_an_application_always_leaves_as_a_topic_is_a_sign_and_no_proof(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(f"{AGGREGATE}-value", R)
            world.registry.seed("shop-users-store-changelog-value", R)
            world.listing("tills")
            diagnosis = world.examine().diagnosis
        assert codes(diagnosis) == {
            ("SRF009", f"{AGGREGATE}-value"),
            ("SRF009", "shop-users-store-changelog-value"),
        }
        assert not any(finding.repairable for finding in diagnosis.findings)
        (finding,) = (f for f in diagnosis.findings if f.store == "users-store")
        assert finding.next == (
            "Nothing, if it disturbs nobody: --ignore PATTERN acknowledges it. Delete nothing on this evidence. Who knows that "
            "the application is gone for good says so: `srfix diagnose --gone shop`."
        )
        assert diagnosis.skipped == ()

    def test_a_missing_group_alone_is_none(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            world.listing("tills")
            diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()
        assert told_of(diagnosis, "shop-users-store-changelog")
        assert diagnosis.is_inconclusive

    @pytest.mark.parametrize("left", [AGGREGATE, "shop-by-name-repartition", REGISTRATION])
    def test_a_stopped_application_whose_offsets_have_expired_is_none(self, left: str) -> None:
        with world_of({"users": 1, left: 1}) as world:
            world.registry.seed(f"{left}-value", R)
            world.registry.seed("shop-other-repartition-value", R)
            world.listing("tills")
            diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()

    def test_groups_that_are_not_listed_whole_prove_nothing(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(f"{AGGREGATE}-value", R)
            diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()

    def test_committed_offsets_of_a_group_that_is_not_listed_are_a_life_sign(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed(f"{AGGREGATE}-value", R)
            world.commit("shop", users=0)
            world.listing("tills")
            assert world.examine().diagnosis.findings == ()

    def test_a_living_application_whose_name_fits_keeps_its_subjects(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed("shop-online-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog-value", R)
            world.commit("shop", users=0)
            world.listing("shop")
            assert world.examine().diagnosis.findings == ()

    def test_a_persons_word_does_where_groups_are_not_listed(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            survey = world.survey()
            survey.gone = frozenset({"shop"})
            (finding,) = world.examine(survey=survey).diagnosis.findings
        assert finding.explanation == (
            "shop-users-store-changelog-value is left of application shop, which is gone: --gone says so; no group of that name "
            "has committed offsets (the cluster does not list its groups), and no internal topic begins with its name."
        )

    def test_one_that_a_person_says_is_gone_is_proved(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            world.listing("tills")
            survey = world.survey()
            survey.gone = frozenset({"shop"})
            (finding,) = world.examine(survey=survey).diagnosis.findings
        assert (finding.code, finding.repairable) == ("SRF009", True)
        assert finding.explanation == (
            "shop-users-store-changelog-value is left of application shop, which is gone: --gone says so; the cluster lists no "
            "group of that name, none has committed offsets, and no internal topic begins with its name."
        )

    @pytest.mark.parametrize(
        ("topics", "said"),
        [
            (
                {"users": 1},
                r"^Application 'shop' is not gone: the cluster lists its group, or that has committed offsets\.",
            ),
            ({"users": 1, AGGREGATE: 1}, r"^Application 'shop' is not gone: "),
        ],
    )
    def test_one_that_lives_is_not_believed_to_be_gone(self, topics: dict[str, int], said: str) -> None:
        with world_of(topics) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            world.commit("shop", users=0)
            world.listing("shop")
            survey = world.survey()
            survey.gone = frozenset({"shop"})
            with pytest.raises(UsageError, match=said):
                world.examine(survey=survey)

    def test_a_name_that_left_nothing_is_refused(self) -> None:
        with world_of({"users": 1}) as world:
            world.registry.seed("shop-users-store-changelog-value", R)
            world.listing("tills")
            survey = world.survey()
            survey.gone = frozenset({"shopp"})
            with pytest.raises(UsageError, match=r"begins with 'shopp', which --gone names\. Did you mean 'shop'"):
                world.examine(survey=survey)


class TestWhatKsqldbSays:
    def diagnosed(self, *answers: KsqldbAnswers) -> Diagnosis:
        with world_of({"users": 1}) as world:
            world.registry.seed(f"{QUERY}-KafkaTopic_Left-Reduce-changelog-value", R)
            world.listing("tills")
            survey = world.survey()
            survey.supplied = Supplied(ksqldb=answers)
            return world.examine(survey=survey).diagnosis

    def answers(
        self, *queries: str, service: str = "default_", origin: str = "http://k:8088", problems: tuple[str, ...] = ()
    ) -> KsqldbAnswers:
        return KsqldbAnswers(
            origin=origin,
            server=ServerInfo(version="7.4.0", service_id=service),
            queries=tuple(QueryDescription(query_id=query) for query in queries),
            problems=problems,
        )

    def test_a_query_that_it_does_not_know_is_gone(self) -> None:
        (finding,) = self.diagnosed(self.answers("CTAS_T_9")).findings
        assert (finding.code, finding.application, finding.repairable) == ("SRF009", QUERY, True)
        assert "ksqlDB (http://k:8088, service id default_) knows no query CTAS_T_7" in finding.explanation

    @pytest.mark.parametrize(
        "how", [{"service": "other_"}, {"origin": "answers.json"}, {"problems": ("SHOW QUERIES EXTENDED was refused",)}]
    )
    def test_another_service_a_file_or_half_an_answer_proves_nothing(self, how: dict[str, object]) -> None:
        assert self.diagnosed(self.answers("CTAS_T_9", **how)).findings == ()  # type: ignore[arg-type]
