"""Plans of every kind as JSON files: digest, reading, writing. An edited file is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

from srfix.recovery.errors import PlanError
from srfix.serde import bounds
from srfix.serde.files import parse_json, read_file, refuse_what_is_no_file, write_whole
from srfix.serde.printable import capitalized, printable_json
from srfix.serde.schemas.models import Json


class Step(Protocol):
    @property
    def step(self) -> int: ...


StepT = TypeVar("StepT", bound=Step)
StepT_co = TypeVar("StepT_co", bound=Step, covariant=True)


class AnyPlan(Protocol[StepT_co]):
    @property
    def actions(self) -> Sequence[StepT_co]: ...

    @property
    def digest(self) -> str: ...


PlanT = TypeVar("PlanT", bound=AnyPlan[Any])


@contextmanager
def _written_to(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlanError(f"The plan cannot be written to {path} ({error.strerror}).") from error


def refuse_unfit(path: Path) -> None:
    """:raises PlanError: if no plan can be written there: it is no file, or its folder does not exist."""
    with _written_to(path):
        path.parent.stat()
        refuse_what_is_no_file(path)


def plan_digest(document: Mapping[str, Json]) -> str:
    """SHA-256 over the canonical JSON (sorted keys, no white space) of all keys except `digest`, as `sha256:` + hex."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(
        errors="surrogatepass"
    )
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFiles(Generic[PlanT]):
    schema: str
    """`srfix.plan/1` and the like; its family is the part before the slash."""
    what: str
    remedy: str
    document: Callable[[PlanT], dict[str, Json]]
    read: Callable[[dict[str, Json], str], PlanT]
    """The plan of an unedited document, with words for messages. Raises PlanError, or what an odd field raises."""

    def is_at(self, path: Path) -> bool:
        """True if a file calls itself such a plan, of any version."""
        try:
            document = parse_json(read_file(path, most_bytes=bounds.MOST_PLAN_BYTES))
        except (OSError, ValueError):
            return False
        match document:
            case {"schema": str(schema)}:
                return schema.startswith(self._family)
        return False

    def load(self, path: Path) -> PlanT:
        try:
            content = read_file(path, most_bytes=bounds.MOST_PLAN_BYTES)
        except OSError as error:
            raise PlanError(f"The plan {path} cannot be read ({error.strerror}). {self.remedy}") from error
        return self.plan_in(content, path)

    def plan_in(self, content: bytes, path: Path) -> PlanT:
        try:
            document = cast("Json", parse_json(content))
        except ValueError as error:
            raise PlanError(f"The plan {path} is not JSON ({error}). {self.remedy}") from error
        return self.plan_from(document, where=f"the plan {path}")

    def plan_from(self, document: Json, *, where: str) -> PlanT:
        """The plan of a document; an edited one is refused. `where` describes the document, for messages."""
        untouched = self._untouched(document, where)
        try:
            return self.read(untouched, where)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PlanError(f"{capitalized(where)} is not a valid plan ({error}). Plan again.") from error

    def save(self, plan: PlanT, path: Path) -> None:
        content = printable_json(json.dumps(self.document(plan), indent=2, ensure_ascii=False)).encode() + b"\n"
        with _written_to(path):
            write_whole(path, content)

    @property
    def _family(self) -> str:
        return self.schema.partition("/")[0] + "/"

    def _untouched(self, document: Json, where: str) -> dict[str, Json]:
        if not isinstance(document, dict) or not str(document.get("schema", "")).startswith(self._family):
            raise PlanError(f"{capitalized(where)} is not {self.what}. {self.remedy}")
        if document["schema"] != self.schema:
            raise PlanError(
                f"{capitalized(where)} has the format {document['schema']}, and this version of srfix reads only "
                f"{self.schema}. Make a new plan with this version."
            )
        if document.get("digest") != plan_digest(document):
            raise PlanError(
                f"{capitalized(where)} was edited after it was made: its content does not have the digest that it names. "
                f"srfix carries out a plan only as it was made. {self.remedy}"
            )
        return document
