"""The three policies: what each asks, when it fails, and what it remembers."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import pytest

from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.errors import DualSubjectError, RegistryError, ResolveError, SrfixError, SubjectVersionError
from srfix.serde.interface import SerdeRegistry
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import (
    IncompatibleSchemaError,
    RegistryAnswerError,
    RegistryUnreachableError,
    UnauthorizedError,
)
from srfix.serde.registry.models import Schema, SchemaVersion
from srfix.serde.resolve import ById, DualSubject, Resolver, SecondAnswered, UnderOneSubject
from srfix.serde.subjects import ChangelogSubject, Role, Subject, TopicSubject
from srfix.serde.wire import SchemaId
from tests.serde.fakes import URL, MemoryRegistry

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


POLICIES: list[Callable[[MemoryRegistry], Resolver]] = [ById, UnderOneSubject, _dual]


class TestEveryPolicy:
    @pytest.mark.parametrize("policy", POLICIES)
    def test_it_gives_the_writer_schema(self, policy: Callable[[MemoryRegistry], Resolver]) -> None:
        resolved = policy(_registry("orders-value")).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.schema_id, resolved.schema.text) == (1, TEXT)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_what_was_found_is_asked_once(self, policy: Callable[[MemoryRegistry], Resolver]) -> None:
        registry = _registry("orders-value")
        resolver = policy(registry)
        resolver.resolve(1, topic="orders", role=Role.VALUE)
        asked = len(registry.calls)
        resolver.resolve(1, topic="orders", role=Role.VALUE)
        assert len(registry.calls) == asked

    @pytest.mark.parametrize("policy", POLICIES)
    def test_an_id_that_the_registry_does_not_know_says_what_to_check(
        self, policy: Callable[[MemoryRegistry], Resolver]
    ) -> None:
        with pytest.raises(
            ResolveError,
            match=r"^The registry does not know schema id 9, which a key of topic 'orders' carries "
            r"\(error code 40403\)\.",
        ) as caught:
            policy(_registry("orders-key")).resolve(9, topic="orders", role=Role.KEY)
        assert not isinstance(caught.value, SubjectVersionError | DualSubjectError)

    @pytest.mark.parametrize("policy", POLICIES)
    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_comes_through_as_it_is(
        self, policy: Callable[[MemoryRegistry], Resolver], outage: RegistryError
    ) -> None:
        registry = _registry("orders-value")
        registry.failures["schema_by_id"] = outage
        with pytest.raises(type(outage)):
            policy(registry).resolve(1, topic="orders", role=Role.VALUE)

    @pytest.mark.parametrize("policy", POLICIES)
    def test_it_travels_to_another_process(self, policy: Callable[[MemoryRegistry], Resolver]) -> None:
        resolver = policy(_registry("orders-value"))
        resolver.resolve(1, topic="orders", role=Role.VALUE)
        again = pickle.loads(pickle.dumps(resolver))
        assert again.resolve(1, topic="orders", role=Role.VALUE).schema.text == TEXT

    @pytest.mark.parametrize("policy", POLICIES)
    def test_many_threads_ask_once(self, policy: Callable[[MemoryRegistry], Resolver]) -> None:
        registry = _registry("orders-value")
        resolver = policy(registry)
        start = threading.Barrier(8)

        def read() -> None:
            start.wait()
            resolver.resolve(1, topic="orders", role=Role.VALUE)

        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert registry.count("schema_by_id") == 1


class TestById:
    def test_it_asks_for_no_subject(self) -> None:
        registry = _registry("elsewhere-value")
        resolved = ById(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.subject, registry.count("lookup")) == (None, 0)


class TestUnderOneSubject:
    @pytest.mark.parametrize(("others", "code", "lacks"), [
        ([], 40401, "there is no such subject"),
        ([OTHER], 40403, "the subject does not hold its schema"),
    ])  # fmt: skip
    def test_it_fails_in_the_words_of_connects_converter(self, others: list[str], code: int, lacks: str) -> None:
        registry = _registry("orders-value")
        for text in others:
            registry.seed(PHANTOM_VALUE, text)
        with pytest.raises(
            SubjectVersionError,
            match=rf"^Error retrieving Avro value schema version for id 1: {lacks} "
            rf"\('app-store-changelog-value', error code {code}\)\. The value is of topic 'orders'\. "
            r"Run `srfix diagnose`",
        ) as caught:
            UnderOneSubject(registry, PHANTOM).resolve(1, topic="orders", role=Role.VALUE)
        error = caught.value
        assert (error.schema_id, error.subject, error.error_code) == (1, PHANTOM_VALUE, code)

    def test_a_key_is_called_a_key(self) -> None:
        with pytest.raises(SubjectVersionError, match=r"^Error retrieving Avro key schema version for id 1: "):
            UnderOneSubject(_registry("orders-value")).resolve(1, topic="orders", role=Role.KEY)

    def test_the_same_reader_reads_right_after_the_repair(self) -> None:
        registry = _registry("orders-value")
        resolver = UnderOneSubject(registry, PHANTOM)
        with pytest.raises(SubjectVersionError):
            resolver.resolve(1, topic="orders", role=Role.VALUE)
        registry.seed(PHANTOM_VALUE, TEXT)
        assert resolver.resolve(1, topic="orders", role=Role.VALUE).subject == PHANTOM_VALUE

    def test_another_id_for_the_same_content_is_accepted_and_reported(self) -> None:
        class TwoIds(MemoryRegistry):
            def lookup(self, subject: str, schema: Schema, *, deleted: bool = False) -> SchemaVersion:
                return SchemaVersion(subject=Subject(subject), version=1, schema_id=SchemaId(900), schema=schema)

        registry = TwoIds()
        registry.seed("orders-value", TEXT)
        resolved = UnderOneSubject(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert (resolved.schema_id, resolved.registered_id, resolved.ids_differ) == (1, 900, True)

    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_of_the_lookup_is_not_taken_for_the_incident(self, outage: RegistryError) -> None:
        registry = _registry("orders-value")
        registry.failures["lookup"] = outage
        with pytest.raises(type(outage)):
            UnderOneSubject(registry).resolve(1, topic="orders", role=Role.VALUE)


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
        assert answered.note == (
            "Schema id 1 is not registered under 'app-store-changelog-value'; 'orders-value' has it. Readers that ask "
            "'app-store-changelog-value' alone fail on it: run `srfix diagnose`."
        )

    def test_neither_keeps_and_shows_both_errors(self) -> None:
        registry = _registry("elsewhere-value")
        registry.seed("orders-value", OTHER)
        with pytest.raises(
            DualSubjectError,
            match=r"^Schema id 1, carried by a value of topic 'orders', is registered under neither of two subjects\. "
            r"First: Error retrieving .*'app-store-changelog-value', error code 40401\).* "
            r"Second: Error retrieving .*'orders-value', error code 40403\)",
        ) as caught:
            _dual(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert caught.value.first_error.error_code == 40401
        assert caught.value.second_error.error_code == 40403

    def test_its_error_travels_to_another_process_with_both(self) -> None:
        with pytest.raises(DualSubjectError) as caught:
            _dual(_registry("elsewhere-value")).resolve(1, topic="orders", role=Role.VALUE)
        again = pickle.loads(pickle.dumps(caught.value))
        assert again.second_error.subject == "orders-value"

    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_is_never_a_reason_to_fall_back(self, outage: RegistryError) -> None:
        registry = _registry("orders-value")
        registry.failures[f"lookup {PHANTOM_VALUE}"] = outage
        with pytest.raises(type(outage)):
            _dual(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert ("lookup", "orders-value") not in registry.calls

    @pytest.mark.parametrize("outage", OUTAGES)
    def test_an_outage_of_the_second_is_not_neither(self, outage: RegistryError) -> None:
        registry = _registry("orders-value")
        registry.failures["lookup orders-value"] = outage
        with pytest.raises(type(outage)):
            _dual(registry).resolve(1, topic="orders", role=Role.VALUE)


class TestRegisterMissing:
    def test_it_writes_nothing_unless_asked_to(self) -> None:
        registry = _registry("orders-value")
        _dual(registry).resolve(1, topic="orders", role=Role.VALUE)
        assert registry.count("register") == 0

    def test_a_missing_value_schema_is_registered_under_the_first_subject_once(self) -> None:
        told: list[SecondAnswered] = []
        registry = _registry("orders-value")
        resolver = _dual(registry, told, register_missing=True)
        for _ in range(3):
            resolver.resolve(1, topic="orders", role=Role.VALUE)
        assert [call for call in registry.calls if call[0] == "register"] == [("register", PHANTOM_VALUE)]
        assert told[0].registered_id == 1
        assert told[0].note.endswith("It is registered under 'app-store-changelog-value' now.")
        assert UnderOneSubject(registry, PHANTOM).resolve(1, topic="orders", role=Role.VALUE)

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


class TestOnARegistry:
    """The same through HTTP."""

    def test_the_incident_the_fall_back_and_the_registration(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            schema_id = server.seed("orders-value", TEXT)
            one = UnderOneSubject(client, PHANTOM)
            with pytest.raises(SubjectVersionError) as caught:
                one.resolve(schema_id, topic="orders", role=Role.VALUE)
            assert caught.value.error_code == 40401
            assert server.writes == 0
            dual = _dual(client, register_missing=True)
            assert dual.resolve(schema_id, topic="orders", role=Role.VALUE).subject == "orders-value"
            assert server.writes == 1
            assert one.resolve(schema_id, topic="orders", role=Role.VALUE).registered_id == schema_id

    def test_a_refused_registration_is_a_409_that_is_kept(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            schema_id = server.seed("orders-value", TEXT)
            server.seed(PHANTOM_VALUE, OTHER)
            dual = _dual(client, register_missing=True)
            dual.resolve(schema_id, topic="orders", role=Role.VALUE)
            (refusal,) = dual.refusals
            assert isinstance(refusal.error, IncompatibleSchemaError)

    def test_a_policy_travels_with_its_client(self) -> None:
        with FixtureRegistry() as server, RegistryClient(server.url) as client:
            schema_id = server.seed("orders-value", TEXT)
            again = pickle.loads(pickle.dumps(UnderOneSubject(client)))
            assert again.resolve(schema_id, topic="orders", role=Role.VALUE).schema.text == TEXT


def test_every_resolve_error_is_an_srfix_error() -> None:
    assert issubclass(ResolveError, SrfixError)
