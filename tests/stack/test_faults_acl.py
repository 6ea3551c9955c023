"""Rights denied by a real broker's authorizer: the ACL to ask for is named, and what was not looked at is no health."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from parts.guarded_broker import GuardedBroker, Operation, Resource
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.subjects.names import changelog_topic
from tests.cli.kept_demo import srfix

pytestmark = pytest.mark.stack

CHANGELOG: Final = changelog_topic(damage.APPLICATION, damage.STORE)
STORE: Final = f"store {damage.STORE} of application {damage.APPLICATION}"
DENIED: Final[Mapping[str, tuple[Resource, str, Operation] | None]] = {
    "reader": None,
    "group-describe": ("GROUP", damage.APPLICATION, "DESCRIBE"),
    "topic-read": ("TOPIC", damage.SOURCE_TOPIC, "READ"),
    "topic-describe": ("TOPIC", damage.SOURCE_TOPIC, "DESCRIBE"),
    "changelog-describe": ("TOPIC", CHANGELOG, "DESCRIBE"),
    "topic-configs": ("TOPIC", damage.SOURCE_TOPIC, "DESCRIBE_CONFIGS"),
}
"""A user for each right that a diagnosis may lack; all others are theirs."""


class Site:
    """The damage on a broker that asks who comes."""

    def __init__(self, broker: GuardedBroker, registry: FixtureRegistry) -> None:
        self.broker = broker
        self.registry = registry

    def diagnose(self, user: str, *more: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the document of `srfix diagnose` as that user."""
        properties = [f"{name}={value}" for name, value in self.broker.user_config(user).items()]
        options = [word for property_ in properties for word in ("-X", property_)]
        done = srfix("diagnose", "--registry", self.registry.url, "--output", "json", *options, *more)
        assert done.stdout, done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        assert "secret-of" not in done.stdout + done.stderr
        return done.returncode, document


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    users = {user: f"secret-of-{user}" for user in (*DENIED, "nobody")}
    with (
        GuardedBroker(topics=damage.TOPICS, users=users) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        damage.stage(broker, client)
        for user, denied in DENIED.items():
            broker.allow(user, "TOPIC", "*", "READ", "DESCRIBE_CONFIGS")
            broker.allow(user, "GROUP", "*", "DESCRIBE")
            if denied is not None:
                resource, name, operation = denied
                broker.deny(user, resource, name, operation)
        yield Site(broker, registry)


def hiding(document: Mapping[str, Any]) -> dict[str, str]:
    """What was not looked at and could hide a finding, with the reason."""
    return {skipped["what"]: skipped["reason"] for skipped in document["skipped"] if skipped["could_hide_a_finding"]}


def codes(document: Mapping[str, Any]) -> list[str]:
    return [found["code"] for found in document["findings"] if found["severity"] != "note"]


class TestDiagnose:
    def test_finds_the_damage_with_the_rights_to_read_and_no_other(self, site: Site) -> None:
        code, document = site.diagnose("reader")
        assert (code, codes(document), hiding(document)) == (1, ["SRF001"], {})

    @pytest.mark.parametrize("more", [(), ("--application", damage.APPLICATION)], ids=["all", "named"])
    def test_without_describe_on_the_group_names_that_acl(self, site: Site, more: tuple[str, ...]) -> None:
        code, document = site.diagnose("group-describe", *more)
        assert (code, document["findings"], document["summary"]["healthy"]) == (2, [], False)
        what = STORE if more else f"the committed offsets of group {damage.APPLICATION!r}"
        assert f"The ACL to ask for is Describe on group {damage.APPLICATION!r}." in hiding(document)[what]

    def test_without_read_on_the_source_names_that_acl(self, site: Site) -> None:
        code, document = site.diagnose("topic-read")
        assert (code, document["findings"], document["summary"]["healthy"]) == (2, [], False)
        assert f"The ACL to ask for is Read on topic {damage.SOURCE_TOPIC!r}." in hiding(document)[STORE]

    def test_without_describe_on_the_source_does_not_take_another_topic_for_it(self, site: Site) -> None:
        code, document = site.diagnose("topic-describe")
        assert (code, document["findings"], document["summary"]["healthy"]) == (2, [], False)
        said = hiding(document)[STORE]
        assert said.startswith(f"it may restore from {damage.SOURCE_TOPIC}, which this user may not see: all 3 fields")
        assert f"The ACL to ask for is Describe and Read on topic {damage.SOURCE_TOPIC!r}" in said

    def test_without_describe_on_what_may_be_a_changelog_does_not_take_it_for_missing(self, site: Site) -> None:
        code, document = site.diagnose("changelog-describe")
        assert (code, document["findings"], document["summary"]["healthy"]) == (2, [], False)
        reason = hiding(document)[f"the subjects of {CHANGELOG}"]
        assert f"The ACL to ask for is Describe on topic {CHANGELOG!r}" in reason
        assert f"--source {damage.APPLICATION}/" in reason

    def test_without_describe_configs_finds_the_damage_and_says_what_it_cannot_know(self, site: Site) -> None:
        code, document = site.diagnose("topic-configs")
        assert (code, codes(document), hiding(document)) == (1, ["SRF001"], {})
        (said,) = [s["reason"] for s in document["skipped"] if s["what"] == "cleanup.policy of topic users"]
        assert f"the ACL to ask for is DescribeConfigs on topic {damage.SOURCE_TOPIC!r}" in said

    def test_without_any_right_calls_nothing_healthy(self, site: Site) -> None:
        for more in ((), ("--application", damage.APPLICATION)):
            code, document = site.diagnose("nobody", *more)
            assert (code, document["findings"], document["summary"]["healthy"]) == (2, [], False)
            assert hiding(document)

    def test_with_a_wrong_password_says_that_it_is_wrong_and_does_not_repeat_it(self, site: Site) -> None:
        config = dict(site.broker.user_config("reader")) | {"sasl.password": "not-the-secret"}
        options = [word for name, value in config.items() for word in ("-X", f"{name}={value}")]
        done = srfix("diagnose", "--registry", site.registry.url, *options)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("srfix: Authentication failed at the Kafka cluster at 127.0.0.1:")
        assert "not-the-secret" not in done.stderr


class TestDoctor:
    def test_says_the_same_before_an_incident(self, site: Site, tmp_path: Path) -> None:
        (tmp_path / "user.properties").write_text(
            "".join(f"{name}={value}\n" for name, value in site.broker.user_config("group-describe").items())
        )
        done = srfix(
            *("doctor", "--registry", site.registry.url, "--kafka-config", tmp_path / "user.properties"),
            *("--application", damage.APPLICATION),
        )
        assert done.returncode == 2, done.stderr
        assert f"Describe on the group {damage.APPLICATION!r}" in " ".join(done.stdout.split()).replace("- ", "-")
