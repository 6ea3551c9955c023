"""Which subject holds the schema ids in the store's rows on disk, for stores that have left no schema to compare. These
are stores on Kafka Streams 2.7 or later, and stores before their first put: their rows carry ids of the source topic's
own subject.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.evidence import schema_similarity
from srfix.recovery.evidence.committed_offsets import read_topics
from srfix.recovery.evidence.rules import ROW_IDS
from srfix.recovery.facts.rows_on_disk import places_of
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.schemas.errors import SchemaNotFoundError
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek

_MOST: Final = 100


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic whose subject holds all of these ids; nothing if the store's own schema can be compared."""
    if schema_similarity.is_comparable(store, survey):
        return
    ids = _ids(store, survey)
    for topic, subject in sorted(_holding(ids, store, survey).items()) if ids else ():
        yield ROW_IDS.of_topic(topic, f"rows on disk carry schema id {enumerated(sorted(ids))}, which {subject} holds")


def _ids(store: SuspectStore, survey: Survey) -> frozenset[SchemaId]:
    from srfix.recovery.state.directory import StoreKind
    from srfix.recovery.state.reading.database import some_rows

    ids: set[int] = set()
    for place in places_of(survey.supplied.state, store):
        if place.store.kind is StoreKind.KEY_VALUE:
            try:
                rows = some_rows(Path(place.store.path), most=_MOST)
            except StateDirectoryError:  # reported by the code that reads the rows themselves
                continue
            ids.update(SchemaIdPeek()([row.payload for row in rows.values()]))
    return frozenset(SchemaId(schema_id) for schema_id in ids if schema_id >= 0)


def _holding(ids: frozenset[SchemaId], store: SuspectStore, survey: Survey) -> dict[Topic, Subject]:
    """The topics whose subject holds all these ids, of those that the group reads or the registry names."""
    likely = {store.source_subject(topic, Role.VALUE) for topic in read_topics(store, survey)}
    with suppress(SchemaNotFoundError):
        likely.update(survey.registry.subjects_of_id(min(ids), deleted=True) or ())
    subjects: dict[Topic, Subject] = {}
    for subject in sorted(filter(survey.has_subject, likely)):
        split = split_subject(split_context(subject)[1])
        is_of_values = split is not None and split[1] is Role.VALUE and split[0] in survey.topics()
        if split is not None and is_of_values and ids <= survey.ids_under(subject, deleted=True):
            subjects[split[0]] = subject
    return subjects
