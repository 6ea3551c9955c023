"""What Confluent 7.9.9, Confluent 8.2.1 and Apicurio 3.3.3 answered to 312 requests, and Confluent 7.9.9 and 8.3.1 to 208 on
contexts, two ids of one content and `normalize`, read through the client.

Each recorded request that the client can make is made: it must go out as it was recorded, and the recorded answer must
become the value, or the error, that is in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qsl, unquote

import pytest

from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.errors import (
    ERRORS_BY_CODE,
    EndpointNotSupportedError,
    RegistryAnswerError,
    RegistryProtocolError,
    SchemaNotFoundError,
)
from srfix.serde.schemas.models import Json, Schema, SchemaReference, SchemaVersion
from srfix.serde.subjects.names import split_context
from tests.fixtures.registry.test_replay import Step
from tests.fixtures.registry.test_replay import steps as recorded_steps
from tests.serde.registry.conftest import MakeClient, ScriptedRegistry
from tests.telling import slow_but

SENT = {
    "confluent-7.9.9": 280,
    "confluent-8.2.1": 280,
    "apicurio-3.3.3": 280,
    "confluent-7.9.9-contexts": 146,
    "confluent-8.3.1-contexts": 146,
}
"""How many of them the client can make. The others have parameters and paths that it has no use for."""


@dataclass(frozen=True)
class Asked:
    """A recorded request, taken apart."""

    segments: tuple[str, ...]
    query: Mapping[str, str]
    body: Mapping[str, Json]

    @property
    def subject(self) -> str:
        """The last segment but for what follows a subject's name."""
        return self.segments[-1]

    @property
    def deleted(self) -> bool:
        return self.query.get("deleted") == "true"

    @property
    def prefix(self) -> str | None:
        return self.query.get("subjectPrefix")

    @property
    def schema(self) -> Schema:
        references = self.body.get("references") or []
        assert isinstance(references, list)
        return Schema(
            text=str(self.body["schema"]),
            schema_type=str(self.body.get("schemaType") or "AVRO"),
            references=tuple(SchemaReference(**reference) for reference in references),  # type: ignore[arg-type]
        )


def number(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def plain(found: SchemaVersion) -> dict[str, Json]:
    """The recorded form of a version, without what only newer registries say."""
    references: list[Json] = [
        {"name": one.name, "subject": one.subject, "version": one.version} for one in found.schema.references
    ]
    form: dict[str, Json] = {
        "subject": found.subject,
        "version": found.version,
        "id": found.schema_id,
        "schema": found.schema.text,
        "schemaType": found.schema.schema_type,
        "references": references,
    }
    return form if found.metadata is None else {**form, "metadata": dict(found.metadata)}


def recorded(version: Json) -> dict[str, Json]:
    assert isinstance(version, dict)
    form = {
        "schemaType": "AVRO",
        "references": [],
        **{name: version[name] for name in version if version[name] is not None},
    }
    for name in ("guid", "ts", "deleted"):
        form.pop(name, None)
    return form


def entry(answer: Json, name: str) -> Json:
    assert isinstance(answer, dict)
    return answer[name]


Call = Callable[[RegistryClient, Asked], object]
Expected = Callable[[Json], object]


def nothing(answer: Json) -> None:
    return None


def listing(answer: Json) -> object:
    assert isinstance(answer, list)
    return tuple(answer)


def flag(asked: Asked, name: str) -> bool:
    return asked.query.get(name) == "true"


def register(client: RegistryClient, asked: Asked) -> int:
    metadata = asked.body.get("metadata")
    assert metadata is None or isinstance(metadata, dict)
    if "id" in asked.body:
        return client.register_with_id(
            asked.segments[1], asked.schema, int(str(asked.body["id"])), metadata=metadata
        ).schema_id
    return client.register(asked.segments[1], asked.schema, metadata=metadata, normalize=flag(asked, "normalize"))


def gives_id_to(client: RegistryClient, asked: Asked) -> object:
    """What a reader asks that names its subject; the client asks for schemas with the context alone."""
    return client.gives_id_to(asked.query["subject"], int(asked.subject)) or SchemaNotFoundError


def check(client: RegistryClient, asked: Asked) -> bool:
    version = number(asked.segments[4]) if len(asked.segments) == 5 else None
    return client.check_compatibility(asked.segments[2], asked.schema, version=version).is_compatible  # type: ignore[arg-type]


def lookup(client: RegistryClient, asked: Asked) -> dict[str, Json]:
    found = client.lookup(asked.subject, asked.schema, deleted=asked.deleted, normalize=flag(asked, "normalize"))
    return plain(found)


def schemas(client: RegistryClient, asked: Asked) -> list[dict[str, Json]]:
    latest_only = flag(asked, "latestOnly")
    return [plain(one) for one in client.schemas(deleted=asked.deleted, prefix=asked.prefix, latest_only=latest_only)]


def versions_of_id(client: RegistryClient, asked: Asked) -> list[dict[str, Json]]:
    found = client.versions_of_id(int(asked.segments[2]), deleted=asked.deleted, subject=asked.query.get("subject"))
    return [{"subject": one.subject, "version": one.version} for one in found or ()]


def subjects_of_id(client: RegistryClient, asked: Asked) -> object:
    return client.subjects_of_id(int(asked.segments[2]), deleted=asked.deleted, subject=asked.query.get("subject"))


def version(client: RegistryClient, asked: Asked) -> dict[str, Json]:
    return plain(client.version(asked.segments[1], number(asked.segments[3]), deleted=asked.deleted))  # type: ignore[arg-type]


def config(client: RegistryClient, asked: Asked) -> object:
    if "defaultToGlobal" in asked.query:
        return client.effective_compatibility(asked.subject)
    return {"own": None if (found := client.config(asked.subject)) is None else dict(found.fields)}


def mode(client: RegistryClient, asked: Asked) -> object:
    return (client.effective_mode if "defaultToGlobal" in asked.query else client.mode)(asked.subject)


def delete_version(client: RegistryClient, asked: Asked) -> None:
    client.delete_version(asked.segments[1], int(asked.segments[3]), permanent=flag(asked, "permanent"))


def field_of(name: str) -> Expected:
    return lambda answer: entry(answer, name)


def each(of: Callable[[Json], Json]) -> Expected:
    return lambda answer: [of(one) for one in answer] if isinstance(answer, list) else None


def same(answer: Json) -> Json:
    return answer


ROUTES: list[tuple[str, Call, Expected]] = [
    (r"POST /subjects/[^/]+", lookup, recorded),
    (r"POST /subjects/[^/]+/versions", register, field_of("id")),
    (r"POST /compatibility/subjects/[^/]+/versions(/[^/]+)?", check, field_of("is_compatible")),
    (r"GET /subjects", lambda client, asked: client.subjects(deleted=asked.deleted, prefix=asked.prefix), listing),
    (r"GET /schemas", schemas, each(recorded)),
    (
        r"GET /schemas/ids/[1-9]\d*",  # no client asks for id 0
        lambda client, asked: client.schema_by_id(int(asked.subject), subject=asked.query.get("subject")).schema.text,
        field_of("schema"),
    ),
    (r"GET /schemas/ids/\d+/subjects", subjects_of_id, listing),
    (r"GET /schemas/ids/\d+/versions", versions_of_id, same),
    (
        r"GET /subjects/[^/]+/versions",
        lambda client, asked: client.versions(asked.segments[1], deleted=asked.deleted),
        listing,
    ),
    (r"GET /subjects/[^/]+/versions/[^/]+", version, recorded),
    (
        r"GET /subjects/[^/]+/versions/\d+/referencedby",
        lambda client, asked: client.referenced_by(asked.segments[1], int(asked.segments[3])),
        listing,
    ),
    (r"GET /config", lambda client, asked: dict(found.fields) if (found := client.config()) else None, same),
    (r"GET /config/[^/]+", config, lambda answer: {"own": answer}),
    (r"GET /mode", lambda client, asked: client.mode(), field_of("mode")),
    (r"GET /mode/[^/]+", mode, field_of("mode")),
    (
        r"GET /contexts",
        lambda client, asked: client.contexts(),
        lambda answer: tuple(str(one).strip(":") for one in answer) if isinstance(answer, list) else None,
    ),
    (r"GET /v1/metadata/version", lambda client, asked: client.server_version(), field_of("version")),
    (r"PUT /config/[^/]+", lambda client, asked: client.set_config(asked.subject, asked.body), nothing),
    (r"DELETE /config/[^/]+", lambda client, asked: client.delete_config(asked.subject), nothing),
    (
        r"PUT /mode/[^/]+",
        lambda client, asked: client.set_mode(asked.subject, str(asked.body["mode"]), force=flag(asked, "force")),
        nothing,
    ),
    (r"DELETE /mode/[^/]+", lambda client, asked: client.delete_mode(asked.subject), nothing),
    (
        r"DELETE /subjects/[^/]+",
        lambda client, asked: client.delete_subject(asked.subject, permanent=flag(asked, "permanent")),
        nothing,
    ),
    (r"DELETE /subjects/[^/]+/versions/\d+", delete_version, nothing),
]
PARAMETERS = {
    *("deleted", "permanent", "normalize", "verbose", "force"),
    *("subject", "subjectPrefix", "latestOnly", "defaultToGlobal"),
}
FIELDS = {"schema", "schemaType", "references", "metadata", "id"}
"""What the client can put into a registration, a look-up or a check."""


def taken_apart(step: Step) -> tuple[Asked, Call, Expected] | None:
    """The request and how to make it; None if the client has no use for it."""
    path, _, query = step["path"].partition("?")
    body = step["body"] or {}
    asked = Asked(
        segments=tuple(unquote(segment) for segment in path.strip("/").split("/")),
        query=dict(parse_qsl(query)),
        body=body,
    )
    if not asked.query.keys() <= PARAMETERS or "%2A" in query or step.get("headers"):
        return None
    if asked.query.get("subjectPrefix") == ":.ct":
        return None  # to the client a context of that name; the registry lists `.ctx` too
    if step["method"] == "POST" and not (body.keys() <= FIELDS and isinstance(body.get("schema"), str)):
        return None
    if step["method"] == "PUT" and not body:
        return None  # refused before it is sent
    if asked.segments[:2] == ("schemas", "ids") and split_context(asked.query.get("subject", ""))[1]:
        return (asked, gives_id_to, lambda answer: True) if len(asked.segments) == 3 else None
    for pattern, call, expected in ROUTES:
        if re.fullmatch(pattern, f"{step['method']} {path}"):
            return asked, call, expected
    return None


def steps(recording: str) -> Iterator[tuple[str, Step]]:
    for position, step in enumerate(recorded_steps(recording)):
        yield f"{position} {step['step']}", step


def target_of(request: str) -> tuple[str, set[tuple[str, str]]]:
    """Method and path, and the parameters in no order; a check's reasons are asked for or not, what is not to be
    normalised is said or not."""
    path, _, query = request.partition("?")
    return path, set(parse_qsl(query)) - {("verbose", "true"), ("normalize", "false")}


def outcome(call: Callable[[], object]) -> object:
    """The value, or the class of the error."""
    try:
        return call()
    except (RegistryAnswerError, RegistryProtocolError, EndpointNotSupportedError) as error:
        return type(error)


def expected_outcome(step: Step, asked: Asked, expected: Expected) -> object:
    answer, name = step["answer"], asked.segments[0]
    if step["status"] < 400:
        if step["path"].startswith("/schemas?") and isinstance(answer, list) and "subject" not in str(answer[:1]):
            return EndpointNotSupportedError
        if name == "config" and "defaultToGlobal" in asked.query:
            return entry(answer, "compatibilityLevel")
        return expected(answer)
    code = answer.get("error_code") if isinstance(answer, dict) else None
    if code is None:
        return None if name == "v1" else RegistryProtocolError
    if step["method"] == "GET" and name == "config" and code in (40401, 40408):
        return {"own": None}
    if step["method"] == "GET" and name == "mode" and code in (40401, 40409):
        return None
    if name == "compatibility" and code in (40401, 40402) and asked.segments[-1] in ("latest", "versions"):
        return True
    assert isinstance(code, int)
    return ERRORS_BY_CODE.get(code, RegistryAnswerError)


@pytest.mark.parametrize("recording", slow_but(SENT, *[*SENT][:2]))
def test_every_recorded_answer_is_read_for_what_it_says(
    recording: str, server: ScriptedRegistry, make_client: MakeClient
) -> None:
    client = make_client(attempts=1, cache_capacity=0)
    sent, wrong = 0, {}
    for name, step in steps(recording):
        route = taken_apart(step)
        if route is None:
            continue
        asked, call, expected = route
        sent += 1
        server.forget()
        empty = step["answer"] == ""
        server.answers(
            b"" if empty else step["answer"], status=step["status"], content_type=None if empty else "text/json"
        )
        server.always(step["answer"])  # what is in force, where an own configuration is compared with it
        found = outcome(partial(call, client, asked))
        wanted = expected_outcome(step, asked, expected)
        if isinstance(wanted, tuple) and "subjectPrefix" in asked.query:
            wanted = tuple(one for one in wanted if str(one).startswith(asked.query["subjectPrefix"]))
        if found != wanted:
            wrong[name] = (found, wanted)
        if target_of(server.targets[0]) != target_of(f"{step['method']} {step['path']}"):
            wrong[f"{name}, sent"] = (server.targets[0], step["path"])
        if step["method"] == "POST":
            body = json.loads(server.seen[0].body)
            if body != {
                k: v for k, v in asked.body.items() if (k, v) not in (("schemaType", "AVRO"), ("schemaType", None))
            }:
                wrong[f"{name}, body"] = (body, asked.body)
    assert wrong == {}
    assert sent == SENT[recording]
