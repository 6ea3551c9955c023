"""Rules are not executed, so a schema whose rules would have been is refused, and no other."""

from __future__ import annotations

import json

import pytest
from confluent_kafka.schema_registry import Rule, RuleKind, RuleMode, RuleSet, Schema, SchemaRegistryClient

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, UsageError
from srfix.serde.confluent import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.serde import Direction, check_rules
from srfix.serde.schemas.models import Json
from srfix.serde.wire import frame_id
from tests.serde.confluent import peers

RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
CTX = peers.context()


def _rule(mode: str, **more: Json) -> dict[str, Json]:
    return {"name": "encrypt", "type": "ENCRYPT", "kind": "TRANSFORM", "mode": mode, **more}


CASES: list[tuple[str, dict[str, Json] | None, set[Direction]]] = [
    ("none", None, set()),
    ("empty", {}, set()),
    ("write", {"domainRules": [_rule("WRITE")]}, {Direction.WRITE}),
    ("read", {"domainRules": [_rule("READ")]}, {Direction.READ}),
    ("both", {"domainRules": [_rule("WRITEREAD")]}, {Direction.WRITE, Direction.READ}),
    ("of the encoding", {"encodingRules": [_rule("WRITEREAD")]}, {Direction.WRITE, Direction.READ}),
    ("disabled", {"domainRules": [_rule("WRITEREAD", disabled=True)]}, set()),
    ("the registry's side", {"enableAt": "GATEWAY", "domainRules": [_rule("WRITEREAD")]}, set()),
    ("the client's side", {"enableAt": "CLIENT", "domainRules": [_rule("READ")]}, {Direction.READ}),
    ("migrations", {"migrationRules": [_rule("UPDOWN")]}, {Direction.UPGRADE, Direction.DOWNGRADE}),
    ("upgrades", {"migrationRules": [_rule("UPGRADE")]}, {Direction.UPGRADE}),
]


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("name", "rule_set", "active"), CASES, ids=[name for name, _, _ in CASES])
def test_a_rule_counts_where_confluent_would_execute_it(
    name: str, rule_set: dict[str, Json] | None, active: set[Direction], direction: Direction
) -> None:
    if direction in active:
        with pytest.raises(UsageError, match=rf"It carries rules for {direction.name}: encrypt"):
            check_rules(rule_set, direction, where="It")
    else:
        check_rules(rule_set, direction, where="It")


def _answers_with_rules(server: FixtureRegistry, path: str, rule_set: dict[str, Json], **more: Json) -> None:
    body = json.dumps({"schema": RECORD, "schemaType": "AVRO", "ruleSet": rule_set, **more})
    server.intercept(Fault(action=Answer(status=200, body=body), path=path))


Client = RegistryClient | SchemaRegistryClient


class TestReading:
    def test_a_writers_rules_for_reading_are_refused(self, server: FixtureRegistry, client: Client) -> None:
        _answers_with_rules(server, "/schemas/ids/1", {"domainRules": [_rule("WRITEREAD")]})
        with pytest.raises(UsageError, match="The schema id 1 carries rules for READ: encrypt"):
            AvroDeserializer(client)(frame_id(1, b"\x02"), CTX)

    def test_migrations_between_writer_and_latest_are_refused(self, server: FixtureRegistry, client: Client) -> None:
        schema_id = server.seed("t-value", RECORD)
        latest = RECORD.replace('"int"', '"long"')
        server.seed("t-value", latest)
        rules = {"migrationRules": [_rule("UPGRADE")]}
        body = {"subject": "t-value", "version": 2, "id": 2, "schema": latest, "ruleSet": rules}
        server.intercept(Fault(action=Answer(status=200, body=json.dumps(body)), path="/versions/latest"))
        with pytest.raises(UsageError, match="Version 2 of subject 't-value' carries rules for"):
            AvroDeserializer(client, conf={"use.latest.version": True})(frame_id(schema_id, b"\x02"), CTX)


class TestWriting:
    def test_the_latest_versions_rules_for_writing_are_refused(self, server: FixtureRegistry, client: Client) -> None:
        rules: dict[str, Json] = {"domainRules": [_rule("WRITE")]}
        _answers_with_rules(server, "/versions/latest", rules, subject="t-value", version=1, id=1)
        conf = {"auto.register.schemas": False, "use.latest.version": True}
        with pytest.raises(UsageError, match=r"The schema of subject 't-value' \(id 1\) carries"):
            AvroSerializer(client, RECORD, conf=conf)({"a": 1}, CTX)

    def test_a_schema_with_rules_is_not_registered_without_them(self, server: FixtureRegistry, client: Client) -> None:
        def schema(mode: RuleMode) -> Schema:
            rule = Rule("encrypt", None, RuleKind.TRANSFORM, mode, "ENCRYPT", None, None, None, None, None, False)
            return Schema(RECORD, "AVRO", [], None, RuleSet(None, [rule]))

        with pytest.raises(UsageError, match="The schema that was passed carries rules for"):
            AvroSerializer(client, schema(RuleMode.WRITE))
        with pytest.raises(UsageError, match="The schema that was passed carries a rule set,"):
            AvroSerializer(client, schema(RuleMode.READ))({"a": 1}, CTX)
        assert server.writes == 0
