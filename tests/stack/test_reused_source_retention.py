"""SRF018 through the command: a real broker names its topics' cleanup policies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import srfix
from tests.recovery.staging import W1
from tests.recovery.world import value

pytestmark = pytest.mark.stack

TOPICS = {
    "deleted": {"cleanup.policy": "delete", "retention.ms": "3600000"},
    "kept": {"cleanup.policy": "delete", "retention.ms": "-1"},
    "compacted": {"cleanup.policy": "compact"},
}
"""Per topic, which is also the name of the application that reads it, its configuration."""


@pytest.fixture(scope="module")
def diagnosis() -> Iterator[dict[str, Any]]:
    """Three masked stores: the ids that they need are registered, the rest is the topics'."""
    with KraftBroker() as broker, FixtureRegistry() as registry:
        for topic, config in TOPICS.items():
            broker.create_topic(topic, 1, config)
            registry.seed(f"{topic}-value", W1)
            registry.seed(f"{topic}-store-changelog-value", W1)
            broker.produce([ProducedRecord(topic=topic, partition=0, key=b"k", value=value(1))])
            broker.commit(topic, {(topic, 0): 1})
        where = ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url)
        # Three topics of one schema: a person says which is whose.
        told = [option for topic in TOPICS for option in ("--source", f"{topic}/store={topic}")]
        done = srfix("diagnose", *where, *told, "--output", "json")
        assert done.returncode == 1, done.stdout + done.stderr
        yield json.loads(done.stdout)


class TestAReusedSourceThatIsNotCompacted:
    def test_retention_deletes_the_only_copy_of_a_row(self, diagnosis: dict[str, Any]) -> None:
        [finding] = [finding for finding in diagnosis["findings"] if finding["severity"] != "note"]
        assert (finding["code"], finding["application"]) == ("SRF018", "deleted")
        assert (finding["severity"], finding["repairable"]) == ("silent wrong results", False)
        assert "(cleanup.policy=delete, retention.ms=3600000)" in finding["explanation"]

    def test_all_three_were_looked_at(self, diagnosis: dict[str, Any]) -> None:
        masked = {finding["application"] for finding in diagnosis["findings"] if finding["code"] == "SRF003"}
        assert masked == set(TOPICS)
        assert not [skipped for skipped in diagnosis["skipped"] if "cleanup.policy" in skipped["what"]]
