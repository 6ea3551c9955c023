"""SRF008 and SRF009: what applications leave behind, told from what living and stopped ones have."""

from __future__ import annotations

import pytest

from srfix.recovery import Diagnosis, Severity, Supplied
from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription, ServerInfo
from srfix.serde import UsageError
from tests.recovery.staging import W1, R
from tests.recovery.world import World, world_fixture

REGISTRATION = "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"
PSEUDO = {f"{REGISTRATION}-pk-key", f"{REGISTRATION}-fk-key", f"{REGISTRATION}-vh-value"}
AGGREGATE = "shop-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"
ONLINE = AGGREGATE.replace("shop-", "shop-online-")
LEFT = "shop-users-store-changelog-value"
QUERY = "_confluent-ksql-default_query_CTAS_T_7"


def codes(diagnosis: Diagnosis) -> set[tuple[str, str]]:
    return {(finding.code, finding.subject) for finding in diagnosis.findings}


world = world_fixture({"users": 1})


def said_to_be_gone(world: World, application: str) -> Diagnosis:
    survey = world.survey()
    survey.gone = frozenset({application})
    return world.examine(survey=survey).diagnosis


class TestForeignKeyJoins:
    @pytest.mark.parametrize(
        ("topics", "group", "expected"),
        [
            pytest.param((REGISTRATION,), "shop", None, id="a-living-one-gives-none"),
            pytest.param((), "shop", ("SRF008", Severity.NOTE), id="one-that-the-application-no-longer-has-is-a-note"),
            pytest.param((), "tills", ("SRF009", Severity.LITTER), id="that-of-an-application-that-is-gone-is-litter"),
        ],
    )
    def test_topics_and_groups_decide(
        self, world: World, topics: tuple[str, ...], group: str, expected: tuple[str, Severity] | None
    ) -> None:
        for topic in topics:
            world.broker.create_topic(topic, 1)
        for subject in PSEUDO:
            world.registry.seed(subject, W1)
        world.commit(group, users=0)
        world.listing(group)
        diagnosis = world.examine().diagnosis
        assert {(each.subject, each.code, each.severity) for each in diagnosis.findings} == (
            {(subject, *expected) for subject in PSEUDO} if expected else set()
        )
        assert diagnosis.skipped == ()


class TestOrphans:
    def test_what_an_application_always_leaves_as_a_topic_is_a_sign_and_no_proof(self, world: World) -> None:
        for changelog in (AGGREGATE, "shop-users-store-changelog"):
            world.registry.seed(f"{changelog}-value", R)
        world.listing("tills")
        diagnosis = world.examine().diagnosis
        assert codes(diagnosis) == {("SRF009", f"{AGGREGATE}-value"), ("SRF009", LEFT)}
        assert not any(finding.repairable for finding in diagnosis.findings)
        (finding,) = (f for f in diagnosis.findings if f.store == "users-store")
        assert "Delete nothing on this evidence." in finding.next
        assert finding.next.endswith("`srfix diagnose --gone shop`.")
        assert diagnosis.skipped == ()

    def test_a_missing_group_alone_is_none(self, world: World) -> None:
        world.registry.seed(LEFT, R)
        world.listing("tills")
        diagnosis = world.examine().diagnosis
        assert diagnosis.findings == ()
        assert any("shop-users-store-changelog" in skipped.what for skipped in diagnosis.skipped)
        assert diagnosis.is_inconclusive

    @pytest.mark.parametrize(
        ("topics", "subjects", "committed", "listed"),
        [
            *(
                pytest.param((left,), (left, "shop-other-repartition"), None, "tills", id=f"its-topic-stands-{left}")
                for left in (AGGREGATE, "shop-by-name-repartition", REGISTRATION)
            ),
            pytest.param((), (AGGREGATE,), None, None, id="groups-that-are-not-listed-whole-prove-nothing"),
            pytest.param((), (AGGREGATE,), "shop", "tills", id="committed-offsets-are-a-life-sign"),
            pytest.param((), (ONLINE,), "shop", "shop", id="a-living-application-whose-name-fits-keeps-its-subjects"),
        ],
    )
    def test_what_may_live_leaves_none(
        self,
        world: World,
        topics: tuple[str, ...],
        subjects: tuple[str, ...],
        committed: str | None,
        listed: str | None,
    ) -> None:
        for topic in topics:
            world.broker.create_topic(topic, 1)
        for subject in subjects:
            world.registry.seed(f"{subject}-value", R)
        if committed:
            world.commit(committed, users=0)
        if listed:
            world.listing(listed)
        assert world.examine().diagnosis.findings == ()

    @pytest.mark.parametrize(
        ("is_listed", "said"),
        [
            (False, "--gone says so; no group of that name has committed offsets (the cluster does not"),
            (True, "--gone says so; the cluster lists no group of that name, no such group has committed"),
        ],
    )
    def test_one_that_a_person_says_is_gone_is_proved(self, world: World, is_listed: bool, said: str) -> None:
        world.registry.seed(LEFT, R)
        if is_listed:
            world.listing("tills")
        (finding,) = said_to_be_gone(world, "shop").findings
        assert (finding.code, finding.repairable) == ("SRF009", True)
        assert said in finding.explanation

    @pytest.mark.parametrize("topic", [None, AGGREGATE])
    def test_one_that_lives_is_not_believed_to_be_gone(self, world: World, topic: str | None) -> None:
        if topic:
            world.broker.create_topic(topic, 1)
        world.registry.seed(LEFT, R)
        world.commit("shop", users=0)
        world.listing("shop")
        said = "" if topic else r"the cluster lists its group, or the group has committed offsets\."
        with pytest.raises(UsageError, match=rf"^Application 'shop' is not gone: {said}"):
            said_to_be_gone(world, "shop")

    def test_a_name_that_left_nothing_is_refused(self, world: World) -> None:
        world.registry.seed(LEFT, R)
        world.listing("tills")
        with pytest.raises(UsageError, match=r"--gone names 'shopp', .* begins with that name\. Did you mean 'shop'"):
            said_to_be_gone(world, "shopp")


class TestWhatKsqldbSays:
    def diagnosed(self, world: World, *answers: KsqldbAnswers) -> Diagnosis:
        world.registry.seed(f"{QUERY}-KafkaTopic_Left-Reduce-changelog-value", R)
        world.listing("tills")
        world.supplied = Supplied(ksqldb=answers)
        return world.examine().diagnosis

    def answers(
        self, *queries: str, service: str = "default_", origin: str = "http://k:8088", problems: tuple[str, ...] = ()
    ) -> KsqldbAnswers:
        return KsqldbAnswers(
            origin=origin,
            server=ServerInfo(version="7.4.0", service_id=service),
            queries=tuple(QueryDescription(query_id=query) for query in queries),
            problems=problems,
        )

    def test_a_query_that_it_does_not_know_is_gone(self, world: World) -> None:
        (finding,) = self.diagnosed(world, self.answers("CTAS_T_9")).findings
        assert (finding.code, finding.application, finding.repairable) == ("SRF009", QUERY, True)
        assert "ksqlDB (http://k:8088, service id default_) knows no query CTAS_T_7" in finding.explanation

    @pytest.mark.parametrize(
        "how", [{"service": "other_"}, {"origin": "answers.json"}, {"problems": ("SHOW QUERIES EXTENDED was refused",)}]
    )
    def test_another_service_a_file_or_half_an_answer_proves_nothing(
        self, world: World, how: dict[str, object]
    ) -> None:
        assert self.diagnosed(world, self.answers("CTAS_T_9", **how)).findings == ()  # type: ignore[arg-type]
