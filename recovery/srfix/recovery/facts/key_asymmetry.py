"""Whether a reader writes keys under another schema id than the topic's keys carry: its look-ups miss then (SRF005).

A store compares keys byte for byte, and the schema id is part of the bytes. Restored keys carry the producer's id; the
reader serialises the key that it looks up under its own schema, which its serde registers under the phantom key subject.
It writes one id only: where the topic's keys carry several, some look-ups miss whichever of them it writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAsymmetry:
    """The reader writes one id, the topic's keys carry others, or others too."""

    topic_ids: tuple[SchemaId, ...]
    """The ids that the topic's keys carry, ascending."""
    reader_id: SchemaId | None
    """The id under which the reader serialises the keys that it looks up, and writes; None if it cannot be told which."""

    @property
    def missed_ids(self) -> tuple[SchemaId, ...]:
        """The ids whose keys no look-up meets, ascending; all of the topic's where it cannot be told which."""
        return tuple(schema_id for schema_id in self.topic_ids if schema_id != self.reader_id)


def asymmetry(
    topic_ids: Iterable[SchemaId], phantom: SubjectState, source_ids: Iterable[SchemaId]
) -> KeyAsymmetry | None:
    """What the phantom key subject tells of the id that the reader writes, beside those that the topic's keys carry.

    The reader's schema is the latest version of the phantom key subject that is the application's own: the topic's keys
    do not carry its id, and neither the source's key subject nor a record has it, for a repair registers what they have. A
    live own version goes before a soft-deleted one. Without any, a subject that holds none of the topic's ids was never
    repaired: its latest version is the reader's, even though the source has it too (an older schema of the producer's).
    One that holds a single id, which the topic's keys carry beside others, is the reader's too, as a repair registers
    all of them; where it holds more it cannot be told which id the reader writes, only that it is one of them.

    :param topic_ids: the ids of the keys that a restore puts in the store.
    :param phantom: the state of the phantom key subject, soft-deleted versions too.
    :param source_ids: the ids under the source topic's own key subject, soft-deleted versions too, and of all its records.
    :returns: None if they do not differ, or if nothing tells of the reader.
    """
    carried = tuple(sorted(set(topic_ids)))
    if not carried or not phantom.versions:
        return None
    reader = _reader_version(frozenset(carried), phantom, frozenset(source_ids))
    if reader is None and len(carried) == 1:
        return None
    reader_id = None if reader is None else reader.schema_id
    return None if (reader_id,) == carried else KeyAsymmetry(topic_ids=carried, reader_id=reader_id)


def _reader_version(
    carried: frozenset[SchemaId], phantom: SubjectState, source_ids: frozenset[SchemaId]
) -> VersionState | None:
    own = [v for v in phantom.versions if v.schema_id not in carried | source_ids]
    if own:
        return max(own, key=lambda version: (not version.deleted, version.version))
    if len(phantom.schema_ids) == 1:
        return phantom.versions[-1]
    standing = phantom.live or phantom.versions
    if any(version.schema_id in carried for version in standing):
        return None
    return max(standing, default=None, key=lambda version: version.version)
