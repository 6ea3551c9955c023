"""`srfix subjects` through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.cli.kept_demo import Parts, srfix

TEXT = '{"type":"record","name":"R","fields":[]}'
NOTHING = Answer(status=404, body='{"error_code":404,"message":"HTTP 404 Not Found"}')


def listed(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    assert done.returncode == 2, done.stderr
    assert "Not looked at: the list of consumer groups" in done.stderr  # of an embedded broker
    document = json.loads(done.stdout)
    assert document["schema"] == "srfix.subjects/1"
    return {found["subject"]: found for found in document["subjects"]}


@dataclass(frozen=True, kw_only=True)
class Zoo:
    registry: FixtureRegistry
    environment: dict[str, str]


@pytest.fixture(scope="module")
def zoo() -> Iterator[Zoo]:
    with (
        EmbeddedBroker(topics={"shop-counts-changelog": 1, "users": 1}) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        for subject in (
            "users-value",
            "shop-counts-changelog-value",
            "shop-users-store-changelog-value",
            "shop-users-store-changelog-com.example.User",
            "shop-by-name-repartition-value",
            "shop-join-subscription-registration-topic-value",
            "shop-join-subscription-registration-topic-fk-key",
            "gone-old-changelog-value",
        ):
            registry.seed(subject, TEXT)
        client.delete_subject("gone-old-changelog-value")
        yield Zoo(
            registry=registry,
            environment={"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url},
        )


class TestTheClasses:
    def test_the_phantom_names_its_application_store_and_next_command(self, parts: Parts) -> None:
        staged = parts.staged
        found = listed(parts.srfix("subjects", "--output", "json"))
        assert found == {
            staged.phantom_subject: {
                "subject": staged.phantom_subject,
                "class": "changelog without a topic",
                "topic": staged.phantom_subject.removesuffix("-value"),
                "topic_exists": False,
                "role": "value",
                "naming": "TopicNameStrategy",
                "live": True,
                "application": staged.application,
                "store": staged.store,
                "ids": [staged.internal_id],
                "next": f"srfix diagnose --application {staged.application} --store {staged.store}",
            }
        }
        assert parts.registry.writes == 0

    def test_each_subject_gets_its_class(self, zoo: Zoo) -> None:
        found = listed(srfix("subjects", "--output", "json", env=zoo.environment))
        assert {subject: entry["class"] for subject, entry in found.items()} == {
            "gone-old-changelog-value": "changelog without a topic",  # groups are not listed here: nobody is gone
            "shop-by-name-repartition-value": "repartition",
            "shop-counts-changelog-value": "changelog",
            "shop-join-subscription-registration-topic-fk-key": "foreign-key pseudo-topic",
            "shop-join-subscription-registration-topic-value": "foreign-key subscription",
            "shop-users-store-changelog-com.example.User": "changelog without a topic",
            "shop-users-store-changelog-value": "changelog without a topic",
        }
        assert [subject for subject, entry in found.items() if not entry["live"]] == ["gone-old-changelog-value"]
        assert found["shop-users-store-changelog-com.example.User"]["naming"] == "TopicRecordNameStrategy"
        assert found["shop-users-store-changelog-value"]["application"] is None  # shop, or shop-users?

    def test_an_application_that_is_named_is_told_apart_and_shown_alone(self, zoo: Zoo) -> None:
        found = listed(srfix("subjects", "--application", "shop", "--output", "json", env=zoo.environment))
        assert "gone-old-changelog-value" not in found
        assert found["shop-users-store-changelog-value"]["store"] == "users-store"
        assert found["shop-by-name-repartition-value"]["store"] is None


class TestTheRequests:
    def test_they_are_full_listings_only(self, zoo: Zoo) -> None:
        zoo.registry.forget_requests()
        listed(srfix("subjects", "--output", "json", env=zoo.environment))
        paths = [request.path for request in zoo.registry.requests]
        assert len(paths) == 4
        assert {path.partition("?")[0] for path in paths} == {"/subjects", "/schemas"}

    def test_a_registry_without_a_listing_of_schemas_costs_the_ids(self, zoo: Zoo) -> None:
        with zoo.registry.intercept(Fault(path=r"^/schemas(\?|$)", action=NOTHING)):
            done = srfix("subjects", "--output", "json", env=zoo.environment)
        assert {entry["ids"] is None for entry in listed(done).values()} == {True}
        assert "Not looked at: the ids of the subjects" in done.stderr
