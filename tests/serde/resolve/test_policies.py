"""The three policies: what each asks, when it fails, and what it remembers."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias
from uuid import UUID

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import (
    DualSubjectError,
    RegistryError,
    ResolveError,
    SubjectVersionError,
    UsageError,
)
from srfix.serde.interface import SerdeRegistry
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.resolve.resolved import SecondAnswered
from srfix.serde.schemas.errors import (
    IncompatibleSchemaError,
    RegistryAnswerError,
    RegistryUnreachableError,
    UnauthorizedError,
)
from srfix.serde.schemas.models import Schema, SchemaVersion
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.subjects.strategies import (
    ChangelogSubject,
    FixedSubject,
    RecordSubject,
    TemplateSubject,
    TopicRecordSubject,
    TopicSubject,
)
from srfix.serde.wire import SchemaId
from tests.serde.fakes import URL, MemoryRegistry

EMULATE = "8.2"
TEXT = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
OTHER = '{"type":"record","name":"S","fields":[]}'
PHANTOM = ChangelogSubject(application="app", store="store")
PHANTOM_VALUE = "app-store-changelog-value"
SOURCE = TopicSubject()

OUTAGES = [
    RegistryUnreachableError([(URL, "refused")]),
    UnauthorizedError(401, 401, "Unauthorized", URL),
    RegistryAnswerError(500, 50001, "store", URL),
]


def _registry(*subjects: str) -> MemoryRegistry:
    registry = MemoryRegistry()
    for subject in subjects:
        registry.seed(subject, TEXT)
    return registry


def _dual(
    registry: SerdeRegistry, told: list[SecondAnswered] | None = None, *, register_missing: bool = False
) -> DualSubject:
    hook = None if told is None else told.append
    return DualSubject(registry, first=PHANTOM, second=SOURCE, on_second=hook, register_missing=register_missing)


Policy: TypeAlias = Callable[[Any], Resolver]
POLICIES: list[Policy] = [ById, UnderOneSubject, _dual]


@pytest.mark.parametrize("policy", POLICIES)
class TestEveryPolicy:
    def test_it_gives_the_writer_schema(self, policy: Policy) -> None:
        resolved = policy(_registry("orders-value")).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.schema_id, resolved.schema.text) == (1, TEXT)

    def test_an_id_that_the_registry_does_not_know_says_what_to_check(self, policy: Policy) -> None:
        with pytest.raises(ResolveError, match=r"id 9, which a key of topic 'orders' .* 40403\)") as caught:
            policy(_registry("orders-key")).resolve(9, topic="orders", role=Role.KEY)
        assert not isinstance(caught.value, SubjectVersionError | DualSubjectError)

    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_comes_through_as_it_is(self, policy: Policy, outage: RegistryError) -> None:
        registry = _registry("orders-value")
        registry.failures["schema_by_id"] = outage
        with pytest.raises(type(outage)):
            policy(registry).resolve(1, topic="orders", role=Role.VALUE)

    def test_it_travels_to_another_process(self, policy: Policy) -> None:
        resolver = policy(_registry("orders-value"))
        resolver.resolve(1, topic="orders", role=Role.VALUE)
        again = pickle.loads(pickle.dumps(resolver))
        assert again.resolve(1, topic="orders", role=Role.VALUE).schema.text == TEXT

    def test_many_threads_ask_once(self, policy: Policy) -> None:
        registry = _registry("orders-value")
        resolver = policy(registry)
        start = threading.Barrier(8)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: (start.wait(), resolver.resolve(1, topic="orders", role=Role.VALUE)), range(8)))
        assert registry.count("schema_by_id") == 1


class TestUnderOneSubject:
    @pytest.mark.parametrize(("others", "code", "lacks"), [
        ([], 40401, "there is no such subject"),
        ([OTHER], 40403, "the subject does not hold its schema"),
    ])  # fmt: skip
    def test_it_fails_in_the_words_of_connects_converter(self, others: list[str], code: int, lacks: str) -> None:
        registry = _registry("orders-value")
        for text in others:
            registry.seed(PHANTOM_VALUE, text)
        resolver = UnderOneSubject(registry, PHANTOM)
        words = f"^Error retrieving Avro value schema version for id 1: {lacks} .*srfix diagnose"
        with pytest.raises(SubjectVersionError, match=words) as caught:
            resolver.resolve(1, topic="orders", role=Role.VALUE)
        registry.seed(PHANTOM_VALUE, TEXT)
        assert resolver.resolve(1, topic="orders", role=Role.VALUE).subject == PHANTOM_VALUE, "right after the repair"
        error = caught.value
        assert (error.schema_id, error.subject, error.error_code) == (1, PHANTOM_VALUE, code)

    def test_another_id_for_the_same_content_is_accepted_and_reported(self) -> None:
        class TwoIds(MemoryRegistry):
            def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
                return SchemaVersion(subject=Subject(subject), version=1, schema_id=SchemaId(900), schema=schema)

        registry = TwoIds()
        registry.seed("orders-value", TEXT)
        resolved = UnderOneSubject(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.schema_id, resolved.registered_id, resolved.ids_differ) == (1, 900, True)


@pytest.mark.core
class TestDualSubject:
    def test_the_first_subject_is_enough(self) -> None:
        told: list[SecondAnswered] = []
        registry = _registry(PHANTOM_VALUE)
        resolved = _dual(registry, told).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.subject, told, registry.count("lookup")) == (PHANTOM_VALUE, [], 1)

    def test_the_second_answers_where_the_first_does_not_and_it_says_so_once(self) -> None:
        told: list[SecondAnswered] = []
        resolver = _dual(_registry("orders-value"), told)
        for _ in range(3):
            assert resolver.resolve(1, topic="orders", role=Role.VALUE).subject == "orders-value"
        (answered,) = told
        assert (answered.first, answered.second, answered.is_key) == (PHANTOM_VALUE, "orders-value", False)
        assert (answered.schema_id, answered.first_error.error_code) == (1, 40401)
        assert "Schema id 1 is not registered under" in answered.note

    def test_neither_keeps_and_shows_both_errors(self) -> None:
        registry = _registry("elsewhere-value")
        registry.seed("orders-value", OTHER)
        with pytest.raises(
            DualSubjectError,
            match=r"^A value of topic 'orders' has schema id 1, which neither .* Second: .* 'orders'\. Run [^,]*\.$",
        ) as caught:
            _dual(registry).resolve(1, topic="orders", role=Role.VALUE)
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert (error.first_error.error_code, error.second_error.error_code) == (40401, 40403)

    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_is_never_a_reason_to_fall_back_nor_taken_for_the_incident(self, outage: RegistryError) -> None:
        for policy in (_dual, lambda registry: UnderOneSubject(registry, PHANTOM)):
            registry = _registry("orders-value")
            registry.failures[f"lookup {PHANTOM_VALUE}"] = outage
            with pytest.raises(type(outage)):
                policy(registry).resolve(1, topic="orders", role=Role.VALUE)
            assert ("lookup", "orders-value") not in registry.calls
        del registry.failures[f"lookup {PHANTOM_VALUE}"]
        registry.failures["lookup orders-value"] = outage
        with pytest.raises(type(outage)):
            _dual(registry).resolve(1, topic="orders", role=Role.VALUE)


class TestRegisterMissing:
    def test_a_missing_value_schema_is_registered_under_the_first_subject_once(self) -> None:
        told: list[SecondAnswered] = []
        registry = _registry("orders-value")
        _dual(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert registry.count("register") == 0, "not unless it is asked to"
        resolver = _dual(registry, told, register_missing=True)
        for _ in range(3):
            resolver.resolve(1, topic="orders", role=Role.VALUE)
        assert [call for call in registry.calls if call[0] == "register"] == [("register", PHANTOM_VALUE)]
        assert told[0].registered_id == 1
        assert "There was no such subject before" in told[0].note
        assert UnderOneSubject(registry, PHANTOM).resolve(1, topic="orders", role=Role.VALUE)

    def test_where_the_subject_was_there_before_nothing_is_to_be_feared(self) -> None:
        told: list[SecondAnswered] = []
        registry = _registry("orders-value")
        registry.seed(PHANTOM_VALUE, OTHER)
        _dual(registry, told, register_missing=True).resolve(1, topic="orders", role=Role.VALUE)
        assert told[0].note.endswith("It is registered under 'app-store-changelog-value' now.")

    def test_a_key_is_never_registered_and_the_hook_says_that_look_ups_miss(self) -> None:
        told: list[SecondAnswered] = []
        registry = _registry("orders-key")
        _dual(registry, told, register_missing=True).resolve(1, topic="orders", role=Role.KEY)
        assert registry.count("register") == 0
        assert told[0].is_key
        assert "look-ups by key still miss" in told[0].note

    @pytest.mark.parametrize("refusal", [IncompatibleSchemaError(409, 409, "incompatible", URL), *OUTAGES])
    def test_a_refusal_is_remembered_shown_and_does_not_stop_the_read(self, refusal: RegistryError) -> None:
        told: list[SecondAnswered] = []
        registry = _registry("orders-value", "payments-value")
        registry.failures["register"] = refusal
        resolver = _dual(registry, told, register_missing=True)
        assert resolver.resolve(1, topic="orders", role=Role.VALUE).schema.text == TEXT
        assert resolver.resolve(1, topic="payments", role=Role.VALUE).subject == "payments-value"
        assert registry.count("register") == 1
        assert [kept.error for kept in resolver.refusals] == [refusal]
        assert [answered.refusal for answered in told] == list(resolver.refusals) * 2
        assert "was refused and will not be tried again" in told[0].note


class TestOfRecords:
    """Subjects that are made of the record's name: it is known when the schema is."""

    def test_one_subject_is_asked_for_when_the_schema_is_known(self) -> None:
        registry = _registry("R")
        resolver = UnderOneSubject(registry, RecordSubject())
        for topic in ("orders", "payments", "orders"):
            assert resolver.resolve(1, topic=topic, role=Role.VALUE).subject == "R"
        assert registry.calls == [("schema_by_id", "1"), ("lookup", "R")] * 2

    def test_a_schema_without_a_record_is_refused_as_confluent_does(self) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-value", '"string"')
        with pytest.raises(UsageError, match="TopicRecordSubject builds the subject from a"):
            UnderOneSubject(registry, TopicRecordSubject()).resolve(1, topic="orders", role=Role.VALUE)

    def test_the_context_of_the_subject_is_that_of_the_id(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            server.seed("orders-value", OTHER)
            schema_id = server.seed(":.ctx:R", TEXT)
            resolver = UnderOneSubject(client, TemplateSubject(":.ctx:{record}"))
            resolved = resolver.resolve(schema_id, topic="orders", role=Role.VALUE)
            assert (resolved.schema.text, resolved.subject) == (TEXT, ":.ctx:R")


class TestGuids:
    """Confluent 8.0 on: `GET /schemas/guids/{guid}`, and membership by content as for ids."""

    @staticmethod
    def _guid(client: RegistryClient, subject: str, text: str = TEXT) -> UUID:
        guid = client.lookup(subject, Schema(text=text)).guid
        assert guid is not None
        return UUID(guid)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_every_policy_gives_the_writer_schema_and_says_the_guid(
        self, registry: FixtureRegistry, client: RegistryClient, policy: Policy
    ) -> None:
        schema_id = registry.seed("orders-value", TEXT)
        guid = self._guid(client, "orders-value")
        resolver = policy(client)
        resolved = resolver.resolve_guid(guid, topic="orders", role=Role.VALUE)
        assert (resolved.schema_id, resolved.guid, resolved.schema.text) == (None, guid, TEXT)
        assert resolved.registered_id in (None, schema_id)
        assert not resolved.ids_differ
        asked = len(registry.requests)
        assert resolver.resolve_guid(guid, topic="orders", role=Role.VALUE) == resolved
        assert len(registry.requests) == asked

    def test_the_incident_is_the_same_by_guid(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("orders-value", TEXT)
        guid = self._guid(client, "orders-value")
        with pytest.raises(SubjectVersionError, match="Error retrieving Avro value schema version for") as caught:
            UnderOneSubject(client, PHANTOM).resolve_guid(guid, topic="orders", role=Role.VALUE)
        error = caught.value
        assert (error.schema_id, error.guid, error.error_code) == (None, guid, 40401)

    def test_a_registry_that_knows_no_guids_says_so(self) -> None:
        guid = UUID(int=7)
        message = f"by the GUID {guid}, but this registry does not know GUIDs"
        with (
            FixtureRegistry(emulate="7.9") as server,
            RegistryClient(server.url) as client,
            pytest.raises(ResolveError, match=message),
        ):
            ById(client).resolve_guid(guid, topic="orders", role=Role.VALUE)
        with pytest.raises(ResolveError, match=message):
            ById(MemoryRegistry()).resolve_guid(guid, topic="orders", role=Role.VALUE)


class TestContexts:
    """In a named context the registry gives the schema of an id to no subject that does not hold it: only the context is
    named when the id is asked for."""

    @pytest.fixture
    def in_context(self) -> Iterator[FixtureRegistry]:
        """Id 1 is TEXT under the source's subject in `.eu`, and another schema in the default context."""
        with FixtureRegistry() as server:
            server.seed("elsewhere-value", OTHER)
            server.seed(":.eu:orders-value", TEXT)
            yield server

    @pytest.mark.parametrize(("path", "context"), [("", ":.eu:"), ("/contexts/.eu", "")])
    def test_the_second_subject_answers(self, in_context: FixtureRegistry, path: str, context: str) -> None:
        in_context.seed(":.eu:app-store-changelog-value", OTHER)
        told: list[SecondAnswered] = []
        with RegistryClient(in_context.url + path) as client:
            policy = DualSubject(
                client,
                first=FixedSubject(value=f"{context}app-store-changelog-value"),
                second=FixedSubject(value=f"{context}orders-value"),
                on_second=told.append,
            )
            assert policy.resolve(1, topic="orders", role=Role.VALUE).schema.text == TEXT
        assert [answered.first_error.error_code for answered in told] == [40403]

    def test_by_id_asks_the_context_that_is_named(self, in_context: FixtureRegistry) -> None:
        with RegistryClient(in_context.url) as client:
            assert ById(client, context=".eu").resolve(1, topic="orders", role=Role.VALUE).schema.text == TEXT
            assert ById(client).resolve(1, topic="orders", role=Role.VALUE).schema.text == OTHER
            assert repr(ById(client, context=".eu")).endswith(", context='.eu')")
