"""SRF018: a source topic whose retention deletes the only copy of a table's rows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from srfix.recovery import Cluster, Diagnosis, Severity
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.serde import Role, Topic
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1
from tests.recovery.world import World, value


class ConfiguredCluster(Cluster):
    """A cluster that says how its topics are configured, as a real one does and the embedded one cannot."""

    configs: Mapping[str, str]

    def topic_configs(self, topic: str, *, timeout_s: float = 5.0) -> TopicConfigs:
        return TopicConfigs(topic=Topic(topic), values=self.configs, problem=None)


@pytest.fixture(autouse=True)
def masked(world: World) -> None:
    """Nothing else is wrong."""
    world.registry.seed(PHANTOM, W1)
    world.live(("a", value(1)))


def diagnosis(world: World, **configs: str) -> Diagnosis:
    cluster = world.stack.enter_context(ConfiguredCluster({"bootstrap.servers": world.broker.bootstrap_servers}))
    cluster.configs = {name.replace("_", "."): setting for name, setting in configs.items()}
    world.cluster = cluster
    return world.examine().diagnosis


def asked_in_vain(found: Diagnosis) -> list[str]:
    return [skipped.reason for skipped in found.skipped if skipped.what.startswith("cleanup.policy")]


class TestCheck:
    def test_deletion_by_age_is_a_finding(self, world: World) -> None:
        found = diagnosis(world, cleanup_policy="delete", retention_ms="86400000", retention_bytes="-1")
        finding, note = found.findings
        assert (finding.code, note.code) == ("SRF018", "SRF003")
        assert (finding.severity, finding.role, finding.repairable) == (Severity.SILENT, Role.VALUE, False)
        assert finding.subject == SOURCE_SUBJECT
        assert "is not compacted (cleanup.policy=delete, retention.ms=86400000)" in finding.explanation
        assert found.has_findings
        assert not asked_in_vain(found)

    @pytest.mark.parametrize(
        ("configs", "said"),
        [
            ({"retention_ms": "-1", "retention_bytes": "1000"}, "(cleanup.policy=delete, retention.bytes=1000)"),
            ({}, "retention.ms=604800000"),  # the default
        ],
    )
    def test_so_is_deletion_by_size_and_by_the_default(self, world: World, configs: dict[str, str], said: str) -> None:
        assert said in diagnosis(world, cleanup_policy="delete", **configs).findings[0].explanation

    @pytest.mark.parametrize(
        "configs",
        [
            {"cleanup_policy": "compact"},
            {"cleanup_policy": "compact,delete", "retention_ms": "-1"},
            {"cleanup_policy": "delete", "retention_ms": "-1", "retention_bytes": "-1"},
            {"cleanup_policy": ""},
        ],
        ids=["compacted", "both, unlimited", "unlimited", "neither"],
    )
    def test_what_keeps_the_latest_of_each_key_is_none(self, world: World, configs: dict[str, str]) -> None:
        found = diagnosis(world, **configs)
        assert [finding.code for finding in found.findings] == ["SRF003"]
        assert not asked_in_vain(found)

    @pytest.mark.parametrize("policy", ["compact,delete", "delete,compact"])
    def test_retention_deletes_the_latest_of_a_key_from_a_compacted_topic_too(self, world: World, policy: str) -> None:
        finding = diagnosis(world, cleanup_policy=policy, retention_ms="1000").findings[0]
        assert (finding.code, finding.severity) == ("SRF018", Severity.SILENT)
        assert f"(cleanup.policy={policy}, retention.ms=1000)" in finding.explanation
        assert "retention deletes this record, too" in finding.explanation

    def test_what_left_the_topic_stays_in_the_store_until_a_restore(self, world: World) -> None:
        finding = diagnosis(world, cleanup_policy="delete").findings[0]
        assert "the local state still has their rows" in finding.explanation
        assert finding.next.startswith("Keep the state directories, and choose one of two ways.")
        assert "set cleanup.policy=compact on topic users" in finding.next  # the source is proven

    def test_where_it_is_not_the_question_comes_first_and_nothing_is_to_be_changed(self, world: World) -> None:
        world.sources.clear()
        finding = diagnosis(world, cleanup_policy="delete").findings[0]
        assert finding.next.startswith("Change nothing on topic users yet: it may be a stream of events")
        assert "`srfix diagnose --application shop --store users-store --source shop/users-store=users`" in finding.next
        assert "compact" not in finding.next
        assert "as far as the evidence shows, from topic users" in finding.explanation

    def test_what_the_cluster_does_not_say_is_skipped_with_its_reason(self, world: World) -> None:
        found = world.examine().diagnosis
        assert [finding.code for finding in found.findings] == ["SRF003"]
        skipped = found.skipped[-1]
        assert (skipped.what, skipped.could_hide) == ("cleanup.policy of topic users", False)
        assert "only a controller could answer, and the cluster has none" in skipped.reason
        assert skipped.subjects == (PHANTOM, "shop-users-store-changelog-key")
        assert not found.is_inconclusive
