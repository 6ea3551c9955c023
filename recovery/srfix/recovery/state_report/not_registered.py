"""The rows of a store that a reader could not read for want of a registration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.facts.survey import ask_membership
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.state.stores.rows import StateRow
from srfix.serde.errors import WireError
from srfix.serde.subjects.names import Role, Subject, split_context, split_subject
from srfix.serde.wire import SchemaId, parse


def rows_not_registered(rows: Iterable[StateRow], registry: ReadableRegistry, subject: Subject) -> Iterator[StateRow]:
    """Those that carry a schema id which the registry does not know, or whose schema the subject does not hold, asked by its
    content as the failing reader asks. Of a key's subject (`…-key`) the keys count, else the values. Each id is asked once.

    :raises RegistryError: if the registry does not answer.
    """
    split = split_subject(split_context(subject)[1])
    role = Role.VALUE if split is None else split[1]
    is_missing: dict[SchemaId, bool] = {}
    for row in rows:
        try:
            frame = parse(row.key if role is Role.KEY else row.value, headers=row.headers, role=role)
        except WireError:  # it carries none
            continue
        schema_id = None if frame is None else frame.schema_id
        if schema_id is None:
            continue
        if schema_id not in is_missing:
            found = ask_membership(registry, subject, schema_id)
            is_missing[schema_id] = not found.is_known or found.is_missing
        if is_missing[schema_id]:
            yield row
