"""A plan as commands, for somebody who may write when you may not: POSIX sh, curl and sed, nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from shlex import quote
from types import MappingProxyType
from typing import assert_never
from urllib.parse import quote as percent_encoded

from srfix.recovery.action_document import describe
from srfix.recovery.actions import (
    Action,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
    relaxed_fields,
    restored_fields,
)
from srfix.recovery.plan_file import Plan
from srfix.serde.registry.models import Json, Schema

__all__ = ["shell_script"]

_HEAD = """\
#!/bin/sh
# The repair that srfix planned, as commands. Made from the plan {digest}
# The registry's URL is the first argument, or {registry}
# Credentials and certificates go into CURL_OPTIONS, for example: CURL_OPTIONS='--user name:password'
# It stops at the first answer that is not what the plan says. It keeps no journal: to undo it, see the end.
set -eu
registry=${{1:-{registry}}}
media='Content-Type: application/vnd.schemaregistry.v1+json'
call() {{
    # shellcheck disable=SC2086  (several options)
    curl --silent --show-error --fail-with-body --max-time 60 ${{CURL_OPTIONS:-}} -H "$media" "$@"
    echo
}}
number() {{ sed -n 's/.*"'"$1"'" *: *\\([0-9][0-9]*\\).*/\\1/p' | head -n 1; }}
must_be() {{ [ "$1" = "$2" ] || {{ echo "expected $2, got '$1': stopped" >&2; exit 1; }}; }}
"""


def shell_script(plan: Plan) -> str:
    """The commands of a plan, with their undo as comments at the end. It holds no secret."""
    return "\n".join(_lines(plan)) + "\n"


def _lines(plan: Plan) -> Iterator[str]:
    yield _HEAD.format(digest=plan.digest, registry=quote(plan.registry.split(",")[0]))
    for line in plan.price:
        yield f"# {line}"
    for action in plan.actions:
        yield f"\n# step {action.step}: {_comment(describe(action))}; subject {_comment(action.subject)}"
        yield from _commands(action)
    yield "\n# To undo it, last step first:"
    for action in reversed(plan.actions):
        yield from (f"# {line}" for line in _undo(action))


def _commands(action: Action) -> Iterator[str]:
    match action:
        case SetCompatibility():
            yield _put_config(action.subject, relaxed_fields(action))
        case Register():
            data = _data(action.schema, {"id": int(action.schema_id)} if action.exact else {})
            yield f"answer=$(call -X POST --data {data} {_url('subjects', action.subject, 'versions')})"
            yield 'given=$(echo "$answer" | number id)'
            if not action.any_id:
                yield f'must_be "$given" {action.schema_id}'
            yield f"answer=$(call -X POST --data {_data(action.schema)} {_url('subjects', action.subject)})"
            if action.any_id:
                yield 'must_be "$(echo "$answer" | number id)" "$given"'
            version = _version(action)
            yield f'{version}=$(echo "$answer" | number version)'
            yield f'echo "schema id {action.schema_id} is version ${version}"'
        case SetMode():
            yield f"{_put_mode(action.subject, action.mode)}'?force=true'"
        case RestoreMode() if action.previous is not None:
            yield _put_mode(action.subject, action.previous)
        case RestoreMode():
            yield f"call -X DELETE {_url('mode', action.subject)}"
        case SoftDelete():
            yield f'call -X DELETE {_url("subjects", action.subject, "versions")}/"${_version(action)}"'
        case RestoreCompatibility(previous=None):
            yield f"call -X DELETE {_url('config', action.subject)}"
        case RestoreCompatibility():
            yield _put_config(action.subject, restored_fields(action.previous))
        case _:
            assert_never(action)


def _undo(action: Action) -> Iterator[str]:
    match action:
        case Register():
            url = _url("subjects", action.subject, "versions")
            yield f"the version that step {action.step} printed, first without ?permanent=true if it is not soft-deleted yet,"
            yield "and only while another subject holds the id:"
            yield f"call -X DELETE {url}/VERSION; call -X DELETE {url}/VERSION?permanent=true"
        case RestoreMode() | RestoreCompatibility():
            yield f"where it stopped before step {action.step}, what that step does:"
            yield from _commands(action)
        case SetCompatibility() | SetMode() | SoftDelete():
            return
        case _:
            assert_never(action)


def _version(action: Register | SoftDelete) -> str:
    """The variable that holds the version of what was registered."""
    return f"version_of_{action.schema_id}"


def _put_config(subject: str, fields: dict[str, Json]) -> str:
    return f"call -X PUT --data {quote(json.dumps(fields))} {_url('config', subject)}"


def _put_mode(subject: str, mode: str) -> str:
    return f"call -X PUT --data {quote(json.dumps({'mode': mode}))} {_url('mode', subject)}"


def _data(schema: Schema, more: Mapping[str, Json] = MappingProxyType({})) -> str:
    body: dict[str, Json] = {"schema": schema.text, **more}
    if schema.schema_type != "AVRO":
        body["schemaType"] = schema.schema_type
    if schema.references:
        body["references"] = [{"name": r.name, "subject": r.subject, "version": r.version} for r in schema.references]
    return quote(json.dumps(body))


def _url(*parts: str) -> str:
    return '"$registry"' + quote("/" + "/".join(percent_encoded(part, safe="") for part in parts))


def _comment(text: str) -> str:
    return text.replace("\n", " ").replace("\r", " ")
