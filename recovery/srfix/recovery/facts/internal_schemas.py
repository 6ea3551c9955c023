"""Which schemas under a phantom subject, or under the source's own, are the application's internal ones.

A phantom subject holds versions that the application has registered, and versions that repairs have registered for the
records of the source topic. Their ids distinguish them: ids that the source's subject has, or that records carry, come
from repairs. If the source also has a version of the application's own, srfix treats it as a repair's, unless something
shows that the store's serde registered it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final, TypeAlias

from srfix.recovery.facts.stores import Membership, RoleFacts
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

AskMembership: TypeAlias = Callable[[Subject, SchemaId], Membership]

_MARK: Final = re.compile(
    r'"(connect\.(?:name|version|parameters|default|internal\.type)|avro\.java\.string)"\s*:|\b(KsqlDataSourceSchema)'
)
MARKS_OF_CONNECT: Final = frozenset(
    ("connect.name", "connect.version", "connect.parameters", "connect.default", "connect.internal.type")
) | {"KsqlDataSourceSchema"}
"""Marks that Connect's converter and ksqlDB write into schemas; avro.java.string comes from generated classes."""


def marks_in(text: str) -> frozenset[str]:
    return frozenset(match[1] or match[2] for match in _MARK.finditer(text))


def own_versions(role: RoleFacts, known_under: Subject, membership: AskMembership) -> tuple[VersionState, ...]:
    """The versions under a phantom subject that the application registered; `known_under` is the source's own."""
    copies = set(role.memberships)
    copies |= {m.answered_id for m in role.memberships.values() if m.answered_id is not None}
    if known_under != role.subject:
        memberships = (
            membership(known_under, schema_id) for schema_id in role.state.schema_ids if schema_id not in copies
        )
        copies |= {
            m.schema_id for m in memberships if m.is_known and m.error_code is None and m.answered_subject is None
        }
    return tuple(version for version in role.state.versions if version.schema_id not in copies)


def latest_own(own: Iterable[VersionState]) -> VersionState | None:
    """The latest of the owner's versions, a soft-deleted one if none is live; None without any."""
    versions = tuple(own)
    live = [version for version in versions if not version.deleted]
    return max(live or versions, key=lambda version: version.version, default=None)


def is_first_of_its_own(
    phantom: SubjectState, source: SubjectState, carried: Collection[SchemaId], schema_id: SchemaId
) -> bool:
    """True if a schema that both subjects hold is the first version of the phantom subject, and no copy of the
    source's. A serde that writes the writer's schemas back would have copied the schemas of the records. The order
    alone does not show copies, because records with a later schema may come before records with an earlier one.
    """
    if not phantom.versions or phantom.versions[0].schema_id != schema_id:
        return False
    numbers: dict[SchemaId, int] = {}
    for version in source.versions:
        numbers.setdefault(version.schema_id, version.version)
    if schema_id not in numbers:
        return False

    def is_before(other: SchemaId) -> bool:
        return other != schema_id and numbers.get(other, 0) < numbers[schema_id]

    phantom_ids = set(phantom.schema_ids)
    return any(is_before(i) for i in carried if i not in phantom_ids)
