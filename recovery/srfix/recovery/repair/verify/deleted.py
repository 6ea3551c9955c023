"""Whether versions that a plan soft-deletes are, and their ids stay readable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.actions.actions import DeleteVersion
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.facts.survey import schema_behind
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.verify.events import Confirmed, Event, Problem
from srfix.serde.schemas.errors import SchemaNotFoundError


def deleted(actions: Iterable[DeleteVersion], registry: ReadableRegistry) -> Iterator[Event]:
    """What holds of each version, and what does not.

    :raises RegistryError: if the registry does not answer.
    """
    for action in actions:
        found = read_subject_state(registry, action.subject)
        live = [version.version for version in found.live if version.schema_id == action.schema_id]
        if live:
            yield Problem(
                subject=action.subject,
                schema_id=action.schema_id,
                what=f"schema id {action.schema_id} is live here (version {live[-1]}); the plan soft-deletes it. Finish "
                "it with srfix apply; if an application registered it again, that one is not gone",
            )
        try:
            schema_behind(registry, action.schema_id, registry.context_of(action.subject))
        except SchemaNotFoundError:
            yield Problem(
                subject=action.subject,
                schema_id=action.schema_id,
                what=f"schema id {action.schema_id} cannot be read by its id any more: somebody has deleted it for good",
            )
        else:
            if not live:
                yield Confirmed(
                    subject=action.subject,
                    schema_id=action.schema_id,
                    what=f"schema id {action.schema_id} is soft-deleted here, and readable by its id",
                )
