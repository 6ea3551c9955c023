"""Plans as JSON files, whatever they plan: digest, reading, writing. A file that was edited is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from srfix.recovery.errors import PlanError
from srfix.serde import bounds
from srfix.serde.files import parse_json, read_file, write_whole
from srfix.serde.printable import capitalized, printable_json
from srfix.serde.schemas.models import Json


def plan_digest(document: Mapping[str, Json]) -> str:
    """SHA-256 over the canonical JSON (sorted keys, no white space) of all keys but `digest`, as `sha256:` + hex."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        errors="surrogatepass"
    )
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


def plan_bytes(path: Path, *, remedy: str) -> bytes:
    """What is in a plan's file.

    :param remedy: what to do without it, a sentence.
    :raises PlanError: if it cannot be read.
    """
    try:
        return read_file(path, most_bytes=bounds.MOST_PLAN_BYTES)
    except OSError as error:
        raise PlanError(f"The plan {path} cannot be read ({error.strerror}). {remedy}") from error


def document_in(content: bytes, path: Path, *, remedy: str) -> Json:
    """The document in a plan's file.

    :raises PlanError: if it is not JSON.
    """
    try:
        return cast("Json", parse_json(content))
    except ValueError as error:
        raise PlanError(f"The plan {path} is not JSON ({error}). {remedy}") from error


def untouched(document: Json, *, schema: str, kind: str, where: str, remedy: str) -> dict[str, Json]:
    """The same document, if it is a plan of that schema with the digest that it names.

    :param schema: `srfix.plan/1` and its like; its family is what stands before the slash.
    :param kind: what it should be, for messages.
    :param where: what the document is, for messages.
    :raises PlanError: if it is no such plan, another version's, or was edited.
    """
    family = schema.partition("/")[0] + "/"
    if not isinstance(document, dict) or not str(document.get("schema", "")).startswith(family):
        raise PlanError(f"{capitalized(where)} is not {kind}. {remedy}")
    if document["schema"] != schema:
        raise PlanError(
            f"{capitalized(where)} is a {document['schema']}; this version of srfix reads {schema}. Plan again with it."
        )
    if document.get("digest") != plan_digest(document):
        raise PlanError(
            f"{capitalized(where)} was edited after it was made: its content does not have the digest that it names. A plan "
            f"does what was reviewed or nothing. {remedy}"
        )
    return document


def save_document(document: Mapping[str, Json], path: Path) -> None:
    """Writes a plan's file whole or not at all: temporary file, sync, rename.

    :raises PlanError: if the disk does not take it.
    """
    content = printable_json(json.dumps(document, indent=2, ensure_ascii=False)).encode() + b"\n"
    try:
        write_whole(path, content)
    except OSError as error:
        raise PlanError(f"The plan cannot be written to {path} ({error.strerror}).") from error
