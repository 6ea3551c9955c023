"""The client on a real registry of another maker, Apicurio 3.3.3.

The suite of `tests/serde/registry/test_implementations.py` runs here as it stands, but for modes. Beside it each row of
`ROWS`, the table "Differences between implementations" seen through the client, is asked of Apicurio, and of the fixture
registry where it imitates it. (Confluent's semantics: `tests/fixtures/registry`.)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
import requests

from parts.registries.apicurio import ApicurioRegistry
from parts.registries.known import APICURIO
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, RegistryError, RetryPolicy, Schema
from tests.serde.registry.test_implementations import (
    INTERNAL,
    PHANTOM,
    SOURCE,
    WRITER,
    Implementation,
    TestListings,
    TestRepair,
)
from tests.stack.meddler import Cut, meddler
from tests.stack.scene import Registry

__all__ = ["TestListings", "TestRepair"]

pytestmark = pytest.mark.stack

NEITHER: Final = '{"type":"record","name":"Neither","fields":[{"name":"nothing","type":"bytes"}]}'
SPACED: Final = json.dumps(json.loads(WRITER), indent=1)
COMPATIBLE: Final = '{"type":"record","name":"Order","fields":[{"name":"orderId","type":"string"}]}'
DOCUMENTED: Final = json.dumps({**json.loads(WRITER), "doc": "An order."}, separators=(",", ":"))


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A registry that holds nothing yet, and its client."""

    registry: Registry
    client: RegistryClient

    def raw(self, method: str, path: str, body: Mapping[str, object] | None = None) -> tuple[int, Any]:
        """Status and answer, without the client's reading of it."""
        answer = requests.request(method, self.registry.url + path, json=body, timeout=30)
        return answer.status_code, answer.json() if answer.content else None


def told(question: Callable[[], object]) -> object:
    """The answer, or the name of the error that it is."""
    try:
        return question()
    except RegistryError as error:
        return type(error).__name__


def same_id(asked: Asked, first: str, second: str) -> bool:
    return asked.registry.seed(SOURCE, first) == asked.registry.seed(PHANTOM, second)


def looked_up(asked: Asked, text: str, *, deleted: bool = False) -> object:
    return told(lambda: asked.client.lookup(PHANTOM, Schema(text=text), deleted=deleted).version)


def seeded(asked: Asked, *texts: str) -> list[int]:
    return [asked.registry.seed(PHANTOM, text) for text in texts]


# What is asked, one function for each row


def default_level(asked: Asked) -> object:
    _, was = asked.raw("GET", "/config")
    asked.raw("DELETE", "/config")
    try:
        return asked.raw("GET", "/config")[1]["compatibilityLevel"]
    finally:
        asked.raw("PUT", "/config", {"compatibility": was["compatibilityLevel"]})


def lookup_of_spaced(asked: Asked) -> object:
    seeded(asked, WRITER)
    return looked_up(asked, SPACED)


def lookup_of_documented(asked: Asked) -> object:
    seeded(asked, WRITER)
    return looked_up(asked, DOCUMENTED)


def metadata(asked: Asked) -> object:
    seeded(asked, WRITER)
    body = {"schema": WRITER, "metadata": {"properties": {"team": "orders"}}}
    status, answer = asked.raw("POST", f"/subjects/{PHANTOM}/versions", body)
    return status, answer["id"] == asked.client.version(PHANTOM, 1).schema_id


def unknown(asked: Asked) -> object:
    before = [looked_up(asked, WRITER, deleted=deleted) for deleted in (False, True)]
    seeded(asked, INTERNAL)
    return before + [looked_up(asked, WRITER, deleted=deleted) for deleted in (False, True)]


def one_deleted(asked: Asked) -> object:
    seeded(asked, INTERNAL, WRITER)
    asked.client.delete_version(PHANTOM, 2)
    return looked_up(asked, WRITER), looked_up(asked, WRITER, deleted=True)


def all_deleted(asked: Asked) -> object:
    seeded(asked, WRITER)
    asked.client.delete_subject(PHANTOM)
    return looked_up(asked, WRITER), looked_up(asked, WRITER, deleted=True)


def soft_deleted_version(asked: Asked) -> object:
    seeded(asked, INTERNAL, WRITER)
    asked.client.delete_version(PHANTOM, 2)
    return told(lambda: asked.client.version(PHANTOM, 2)), asked.client.version(PHANTOM, 2, deleted=True).version


def subject_in_the_wrong_order(asked: Asked) -> object:
    seeded(asked, WRITER)
    permanent_first = told(lambda: asked.client.delete_subject(PHANTOM, permanent=True))
    asked.client.delete_subject(PHANTOM)
    return permanent_first, told(lambda: asked.client.delete_subject(PHANTOM))


def version_in_the_wrong_order(asked: Asked) -> object:
    seeded(asked, INTERNAL, WRITER)
    permanent_first = told(lambda: asked.client.delete_version(PHANTOM, 2, permanent=True))
    asked.client.delete_version(PHANTOM, 2)
    return permanent_first, told(lambda: asked.client.delete_version(PHANTOM, 2))


def versions_of_unknown_id(asked: Asked) -> object:
    return told(lambda: asked.client.versions_of_id(987_654))


def last_holder_gone(asked: Asked) -> object:
    (schema_id,) = seeded(asked, NEITHER)
    asked.raw("GET", f"/schemas/ids/{schema_id}")  # unread before, it is gone from Apicurio too
    asked.client.delete_subject(PHANTOM)
    asked.client.delete_subject(PHANTOM, permanent=True)
    by_id = told(lambda: asked.client.schema_by_id(schema_id).schema_id == schema_id)
    return by_id, seeded(asked, NEITHER) == [schema_id]


def listing(asked: Asked) -> object:
    (schema_id,) = seeded(asked, WRITER)
    return told(lambda: [(one.subject, one.version, one.schema_id == schema_id) for one in asked.client.schemas()])


def text_of_spaced(asked: Asked) -> object:
    (schema_id,) = seeded(asked, SPACED)
    texts = (
        asked.client.schema_by_id(schema_id).schema.text,
        asked.client.lookup(PHANTOM, Schema(text=SPACED)).schema.text,
    )
    return tuple({WRITER: "compact", SPACED: "as sent"}.get(text) for text in texts)


def own_config(asked: Asked) -> object:
    seeded(asked, WRITER)
    return asked.client.config(PHANTOM)


def config_without_level(asked: Asked) -> object:
    seeded(asked, WRITER)
    return told(lambda: asked.client.set_config(PHANTOM, {"normalize": True}))


def config_deleted_twice(asked: Asked) -> object:
    seeded(asked, WRITER)
    asked.client.set_config(PHANTOM, {"compatibility": "FULL"})
    return [told(lambda: asked.client.delete_config(PHANTOM)) for _ in range(2)]


def incompatible(asked: Asked) -> object:
    seeded(asked, INTERNAL)
    return told(lambda: asked.client.register(PHANTOM, Schema(text=WRITER)))


def reasons(asked: Asked) -> object:
    seeded(asked, INTERNAL)
    check = asked.client.check_compatibility(PHANTOM, Schema(text=WRITER))
    return check.is_compatible, bool(check.messages)


def check_of_unknown_subject(asked: Asked) -> object:
    schema = Schema(text=WRITER)
    return [
        asked.client.check_compatibility(PHANTOM, schema, version=version).is_compatible for version in ("latest", None)
    ]


def registered_at_none(asked: Asked) -> object:
    writer_id = asked.registry.seed(SOURCE, WRITER)
    seeded(asked, INTERNAL)
    asked.client.set_config(PHANTOM, {"compatibility": "NONE"})
    same = asked.client.register(PHANTOM, Schema(text=WRITER)) == writer_id
    asked.client.delete_config(PHANTOM)
    return (
        same,
        asked.client.effective_compatibility(PHANTOM),
        told(lambda: asked.client.register(PHANTOM, Schema(text=NEITHER))),
    )


def own_mode(asked: Asked) -> object:
    seeded(asked, WRITER)
    return asked.client.mode(PHANTOM)


def import_over_live_versions(asked: Asked) -> object:
    seeded(asked, WRITER)
    return told(lambda: asked.client.set_mode(PHANTOM, "IMPORT"))


@contextmanager
def mode(asked: Asked, value: str) -> Iterator[None]:
    asked.client.set_mode(PHANTOM, value, force=True)
    try:
        yield
    finally:
        asked.client.delete_mode(PHANTOM)


def new_content_when_read_only(asked: Asked) -> object:
    seeded(asked, WRITER)
    with mode(asked, "READONLY"):
        return told(lambda: bool(asked.client.register(PHANTOM, Schema(text=COMPATIBLE))))


def same_content_when_read_only(asked: Asked) -> object:
    (schema_id,) = seeded(asked, WRITER)
    with mode(asked, "READONLY"):
        return told(lambda: asked.client.register(PHANTOM, Schema(text=WRITER)) == schema_id)


def explicit_id(asked: Asked) -> object:
    return told(lambda: asked.client.register_with_id(PHANTOM, Schema(text=COMPATIBLE), 424_242).schema_id == 424_242)


def explicit_id_on_import(asked: Asked) -> object:
    seeded(asked, WRITER)
    with mode(asked, "IMPORT"):
        return explicit_id(asked)


def prefix(asked: Asked) -> object:
    asked.registry.seed(SOURCE, WRITER)
    seeded(asked, WRITER)
    return sorted(asked.client.subjects(prefix="app-"))


def other_context(asked: Asked) -> object:
    asked.client.register(f":.shop:{PHANTOM}", Schema(text=WRITER))
    return looked_up(asked, WRITER)


def bad_schemas(asked: Asked) -> object:
    return told(lambda: asked.client.register(PHANTOM, Schema(text='{"type":"record"')))


def no_subjects(asked: Asked) -> object:
    return asked.client.subjects()


def odd_subject(asked: Asked) -> object:
    subject = "a/b:c%20d e+f#g?h-größe-value"
    schema_id = asked.client.register(subject, Schema(text=WRITER))
    return asked.client.subjects() == (subject,), asked.client.version(subject, "latest").schema_id == schema_id


def undone(asked: Asked) -> object:
    writer_id = asked.registry.seed(SOURCE, WRITER)
    seeded(asked, INTERNAL, WRITER)
    asked.client.delete_version(PHANTOM, 2)
    asked.client.delete_version(PHANTOM, 2, permanent=True)
    again = seeded(asked, WRITER) == [writer_id]
    return asked.client.schema_by_id(writer_id).schema_id == writer_id, again, asked.client.versions(PHANTOM)


def registered_again(asked: Asked) -> object:
    seeded(asked, INTERNAL, WRITER)
    asked.client.delete_version(PHANTOM, 2)
    seeded(asked, WRITER)
    return asked.client.versions(PHANTOM), asked.client.versions(PHANTOM, deleted=True)


@dataclass(frozen=True)
class Row:
    """A row's question, and what Apicurio answers."""

    ask: Callable[[Asked], object]
    answer: object
    imitated: bool = True
    """Whether the fixture registry's `APICURIO` answers as Apicurio does."""


ROWS: Final[Mapping[str, Row]] = {
    "default level": Row(default_level, "NONE", imitated=False),
    "same text, second subject": Row(lambda asked: same_id(asked, WRITER, WRITER), True),
    "other whitespace / key order": Row(lambda asked: same_id(asked, WRITER, SPACED), False),
    "doc / aliases differ": Row(lambda asked: same_id(asked, WRITER, DOCUMENTED), False),
    "metadata": Row(metadata, (200, True), imitated=False),
    "lookup of whitespace/order variant": Row(lookup_of_spaced, 1),
    "lookup of doc/alias variant": Row(lookup_of_documented, 1, imitated=False),
    "unknown subject / schema (with or without deleted)": Row(
        unknown, ["SubjectNotFoundError"] * 2 + ["SchemaNotFoundError"] * 2
    ),
    "one version soft-deleted: plain / deleted=true": Row(one_deleted, ("SchemaNotFoundError", 2)),
    "all soft-deleted: plain / deleted=true": Row(all_deleted, ("SchemaNotFoundError", 1)),
    "GET a soft-deleted version": Row(soft_deleted_version, ("VersionNotFoundError", 2)),
    "subject: soft again / permanent first": Row(
        subject_in_the_wrong_order, ("SubjectNotSoftDeletedError", "SubjectSoftDeletedError")
    ),
    "version: permanent first / soft again": Row(
        version_in_the_wrong_order, ("VersionNotSoftDeletedError", "VersionSoftDeletedError")
    ),
    "ids/N/versions, unknown id": Row(versions_of_unknown_id, "SchemaNotFoundError"),
    "id after hard delete of the last holder / registered again": Row(last_holder_gone, (True, True), imitated=False),
    "GET /schemas": Row(listing, "EndpointNotSupportedError"),
    "text returned: by id / by look-up": Row(text_of_spaced, ("compact", "as sent")),
    "GET /config/{s} without one, through the client": Row(own_config, None),
    "PUT config without level": Row(config_without_level, "RegistryAnswerError"),
    "DELETE config / twice": Row(config_deleted_twice, [None, None]),
    "incompatible": Row(incompatible, "IncompatibleSchemaError"),
    "`verbose` messages": Row(reasons, (False, False)),
    "compatibility check of an unknown subject, latest / all": Row(check_of_unknown_subject, [True, True]),
    "level NONE, then register": Row(registered_at_none, (True, "BACKWARD", "IncompatibleSchemaError")),
    "GET mode without one": Row(own_mode, "READWRITE"),
    "PUT mode IMPORT over live versions": Row(import_over_live_versions, None, imitated=False),
    "PUT/DELETE mode": Row(new_content_when_read_only, True),
    "POST with id, not IMPORT": Row(explicit_id, False),
    "POST with id, IMPORT": Row(explicit_id_on_import, False),
    "READONLY, existing content": Row(same_content_when_read_only, True),
    "subjectPrefix, through the client": Row(prefix, [PHANTOM]),
    "contexts": Row(other_context, "SubjectNotFoundError", imitated=False),
    "invalid": Row(bad_schemas, "InvalidSchemaError"),
    "empty GET /subjects": Row(no_subjects, ()),
    "undo of a registration": Row(undone, (True, True, (1, 2))),
    "a soft-deleted version registered again": Row(registered_again, ((1, 3), (1, 2, 3)), imitated=False),
    "odd characters in a subject": Row(odd_subject, (True, True)),
}


@pytest.fixture
def implementation() -> Implementation:
    """By what the borrowed suite chooses its expectations."""
    return Implementation("7.9", APICURIO)


@pytest.fixture
def registry(apicurio: ApicurioRegistry) -> ApicurioRegistry:
    """Apicurio; empty."""
    apicurio.clear()
    return apicurio


@pytest.fixture
def client(registry: ApicurioRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url, retry=RetryPolicy(max_attempts=1)) as made:
        yield made


class TestRows:
    @pytest.mark.parametrize("row", ROWS)
    def test_apicurio_answers_as_its_column_says(
        self, row: str, registry: ApicurioRegistry, client: RegistryClient
    ) -> None:
        assert ROWS[row].ask(Asked(registry=registry, client=client)) == ROWS[row].answer

    @pytest.mark.parametrize("row", [name for name, row in ROWS.items() if row.imitated])
    def test_the_fixture_imitates_apicurio(self, row: str) -> None:
        with (
            FixtureRegistry(habits=APICURIO) as fixture,
            RegistryClient(fixture.url, retry=RetryPolicy(max_attempts=1)) as client,
        ):
            assert ROWS[row].ask(Asked(registry=fixture, client=client)) == ROWS[row].answer


class TestLostAnswers:
    """As `test_against_the_fixture_registry`; what a write says that was carried out already is Apicurio's own answer."""

    @pytest.mark.parametrize(("cut", "reached"), [("before", 1), ("after", 2)])
    def test_each_write_takes_effect_once_and_succeeds(
        self, cut: Cut, reached: int, registry: ApicurioRegistry
    ) -> None:
        def every_other_time(method: str, path: str, earlier: int) -> Cut | None:
            is_write = method in ("PUT", "DELETE") or path.partition("?")[0].endswith("/versions")
            return cut if is_write and method != "GET" and earlier % 2 == 0 else None

        writer_id = registry.seed(SOURCE, WRITER)
        registry.seed(PHANTOM, INTERNAL)
        before = registry.dump()
        with (
            meddler(registry.url, every_other_time) as url,
            RegistryClient(url, retry=RetryPolicy(sleep=lambda _: None)) as client,
        ):
            client.set_config(PHANTOM, {"compatibility": "FULL"})
            client.delete_config(PHANTOM)
            client.set_config(PHANTOM, {"compatibility": "NONE"})
            assert client.register(PHANTOM, Schema(text=WRITER)) == writer_id
            client.delete_config(PHANTOM)
            client.delete_version(PHANTOM, 2)
            client.delete_version(PHANTOM, 2, permanent=True)
            assert registry.dump() == before
            assert client.register("new-value", Schema(text=WRITER)) == writer_id
            client.delete_subject("new-value")
            client.delete_subject("new-value", permanent=True)
        assert registry.dump() == before
        registrations = [seen for seen in registry.write_log if seen.method == "POST"]
        assert [seen.status for seen in registrations] == [200] * (2 * reached)
