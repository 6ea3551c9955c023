"""What a survey asks, and how often: remembered answers, and one listing instead of many questions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import cast

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Cluster, Survey
from srfix.serde import RegistryClient, RetryPolicy, Subject, Topic
from srfix.serde.properties.kafka_client import Isolation
from tests.recovery.staging import W1, W2

MANY = 120


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    """Subjects with two versions each, every tenth with the later one soft-deleted; and one soft-deleted whole."""
    with FixtureRegistry() as running:
        for number in range(MANY):
            running.seed(f"s{number}", W1)
            running.seed(f"s{number}", W2, deleted=number % 10 == 0)
        running.seed("gone", W1, deleted=True)
        running.forget_requests()
        yield running


@pytest.fixture
def survey(registry: FixtureRegistry) -> Iterator[Survey]:
    with (
        RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as client,
        Cluster({"bootstrap.servers": "127.0.0.1:9"}) as cluster,  # nobody is asked there
    ):
        yield Survey(cluster=cluster, registry=client)


def latest(survey: Survey) -> list[int | None]:
    found = [survey.latest(Subject(f"s{number}")) for number in range(MANY)]
    return [None if version is None else version.version for version in found]


EXPECTED = [1 if number % 10 == 0 else 2 for number in range(MANY)]


class TestTheLatestVersion:
    def test_a_few_are_asked_one_by_one_and_once(self, registry: FixtureRegistry, survey: Survey) -> None:
        for _ in range(2):
            for number in range(5):
                survey.latest(Subject(f"s{number}"))
        assert [seen.path for seen in registry.requests] == [f"/subjects/s{n}/versions/latest" for n in range(5)]

    def test_many_are_listed(self, registry: FixtureRegistry, survey: Survey) -> None:
        assert latest(survey) == EXPECTED
        assert len(registry.requests) < MANY
        assert sum(seen.path.startswith("/schemas?") for seen in registry.requests) <= 2

    def test_a_subject_that_is_soft_deleted_whole_is_in_no_listing_and_is_found(self, survey: Survey) -> None:
        latest(survey)
        found = survey.latest(Subject("gone"))
        assert found is not None
        assert found.version == 1

    def test_a_registry_that_lists_no_schemas_is_asked_one_by_one(
        self, registry: FixtureRegistry, survey: Survey
    ) -> None:
        body = '{"error_code": 404, "message": "HTTP 404 Not Found"}'
        registry.intercept(Fault(path=r"^/schemas\?", action=Answer(status=404, body=body)))
        assert latest(survey) == EXPECTED
        assert sum(seen.path.startswith("/schemas?") for seen in registry.requests) == 1

    def test_a_registry_that_ignores_latest_only_tells_them_by_their_numbers(
        self, registry: FixtureRegistry, survey: Survey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listed = RegistryClient.schemas
        monkeypatch.setattr(RegistryClient, "schemas", lambda client, latest_only: reversed([*listed(client)]))
        assert latest(survey) == EXPECTED


def test_a_registry_is_typed_in_every_form_that_is_taken() -> None:
    """Seen: mypy refused a URL, which is taken."""
    survey = Survey(cast("Cluster", None), "http://registry:8081")
    assert isinstance(survey.registry, RegistryClient)
    survey.registry.close()


def test_a_new_survey_asks_the_same_question() -> None:
    """`srfix watch` makes one for each look: it had forgotten `--isolation` and `--gone`."""
    survey = Survey(
        cast("Cluster", None),
        "http://registry:8081",
        sources={"store": Topic("users")},
        isolation=Isolation.READ_COMMITTED,
        gone=frozenset({"shop"}),
    )
    survey.once(("topics",), dict)
    anew = survey.anew(survey.registry)
    for part in (part for part in fields(Survey) if not part.name.startswith("_")):
        assert getattr(anew, part.name) is getattr(survey, part.name), part.name
    assert anew.once(("topics",), lambda: "asked") == "asked"
