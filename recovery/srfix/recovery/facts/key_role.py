"""Decides whether a topic's keys are schema registry keys at all, because a census cannot. A BIGINT key of eight bytes
begins like a framed key, and so do UUIDs and windows by chance. So the ids that a census peeks in keys count as ids
only if there is a key subject (the phantom one or the source's, soft-deleted versions too), or if most keys decode
under the schema that they name. A subject alone is no proof either, because it may be left over.

A store compares keys byte for byte, and the schema id is part of the bytes. Restored keys carry the producer's id; the
reader serialises the key that it looks up under its own schema, which its serde registers under the phantom key
subject. So it writes only one id. If that id differs from the topic's, look-ups miss (SRF005). If the topic's keys
carry several ids, some look-ups miss in any case.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from srfix.recovery.census.interface import Census, IdCount, RoleCensus
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId

_RAW_SIZES: Final = frozenset({8, 16})
"""Bytes of a BIGINT and of a UUID in binary."""
_ENOUGH: Final = 8
"""How many keys of a raw size must decode, all of them, before they count as framed without a key subject."""
_TELLING: Final = 4
"""So many keys of a raw size that hardly ever decode show that the keys are raw, whatever ids they seem to carry."""
_BY_CHANCE: Final = 0.25
"""Up to this share, raw keys decode by chance: three bytes are an Avro long in one of eight cases."""


class KeyReading(Enum):
    DECODES = "decodes"
    """The whole key decodes under the schema of its id (with the topic's window behind it, if there is one)."""
    FITS_SUBJECT = "fits-subject"
    """It does not, but the bytes after the id decode under a schema of the existing key subject."""
    MISFIT = "misfit"
    UNKNOWN_ID = "unknown-id"
    NOT_READ = "not-read"
    """The registry knows the id, but srfix has no serde for the schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledKey:
    partition: int
    offset: int
    schema_id: SchemaId
    """The id that it seems to carry."""
    size: int
    """The number of its bytes, with id and window."""
    outcome: KeyReading


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySample:
    keys: tuple[SampledKey, ...]
    """By partition and offset, each key once in its partition."""
    window: WindowKind | None


class KeyStanding(Enum):
    CERTAIN = "certain"
    """There is a key subject, and the keys fit it: most of them decode."""
    SUBJECT_ONLY = "subject-only"
    """There is a key subject, but the keys that srfix read do not show that they are written under it."""
    ASSUMED = "assumed"
    """There is no key subject, but most keys decode under the schema that they name."""
    RAW = "raw"
    """No schema registry serializer wrote the keys: they are BIGINT, UUID or text, or seemed to have ids by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRole:
    standing: KeyStanding
    census: Census
    """The census in which only real ids count as ids; keys with other ids count as unframed."""
    source: SubjectState
    window: WindowKind | None = None
    not_looked_at: str | None = None
    """What the keys that were read leave open, in words; None if they leave nothing open."""
    could_hide: bool = False

    @property
    def is_role(self) -> bool:
        return self.standing is not KeyStanding.RAW

    @property
    def is_certain(self) -> bool:
        """True if a schema registry serializer certainly wrote the keys; advice that deletes rows needs this."""
        return self.standing is KeyStanding.CERTAIN


def key_role(census: Census, phantom: SubjectState, source: SubjectState, sample: KeySample) -> KeyRole:
    """Decides it by the versions under the two key subjects, and by live keys read by the id they seem to carry."""
    if not census.ids(Role.KEY):
        standing = KeyStanding.CERTAIN if phantom.versions else KeyStanding.RAW
        return KeyRole(standing=standing, census=census, source=source)
    shares = _Shares(census, sample)
    if phantom.versions or source.versions:
        return _with_subject(census, sample, shares, phantom, source)
    return _without_subject(census, sample, shares, source)


def _with_subject(
    census: Census, sample: KeySample, shares: _Shares, phantom: SubjectState, source: SubjectState
) -> KeyRole:
    registered_ids = {*phantom.schema_ids, *source.schema_ids}
    read = [key for key in sample.keys if key.outcome is not KeyReading.NOT_READ]
    fitting = [key for key in read if key.outcome in (KeyReading.DECODES, KeyReading.FITS_SUBJECT)]
    is_raw_sized = _are_raw_sized(read)
    is_decided = len(read) >= _TELLING or registered_ids.isdisjoint(key.schema_id for key in read)
    if is_raw_sized and is_decided and len(fitting) <= _BY_CHANCE * len(read):
        size, subject = read[0].size, (phantom if phantom.versions else source).subject
        return KeyRole(
            standing=KeyStanding.RAW,
            census=without_key_ids(census, census.ids(Role.KEY)),
            source=source,
            not_looked_at=f"{subject} exists, but the keys do not fit it: srfix read {counted(len(read), 'key')}, each "
            f"of {counted(size, 'byte')} (like {_raw_type(size)} keys), and {len(fitting) or 'none'} of them decode. srfix "
            "treated them as keys without a schema, and the subject as a left-over",
            could_hide=bool(fitting),
        )
    proven = shares.of(KeyReading.DECODES, KeyReading.FITS_SUBJECT, KeyReading.NOT_READ)
    is_certain = proven > 0.5 or (shares.carried(registered_ids) > 0.5 and not is_raw_sized)
    return KeyRole(
        standing=KeyStanding.CERTAIN if is_certain else KeyStanding.SUBJECT_ONLY,
        census=census,
        source=source,
        window=sample.window,
    )


def _without_subject(census: Census, sample: KeySample, shares: _Shares, source: SubjectState) -> KeyRole:
    ids = census.ids(Role.KEY)
    proven = shares.of(KeyReading.DECODES)
    decoding = [key for key in sample.keys if key.outcome is KeyReading.DECODES]
    raw = KeyRole(standing=KeyStanding.RAW, census=without_key_ids(census, ids), source=source)
    decode = (
        "decodes under the schema whose id it seems"
        if len(decoding) == 1
        else "decode under the schema whose id they seem"
    )
    read, decided = f"srfix read {counted(len(sample.keys), 'key')}", f"{len(decoding)} of them {decode} to carry"
    could_hide = True
    if not sample.keys:
        why = (
            "the keys begin like keys with a schema id, but there is no key subject, and srfix could not read "
            "any key. So it does not know whether a schema registry serializer wrote them"
        )
    elif shares.of(KeyReading.NOT_READ) > 0.5:
        why = (
            "there is no key subject, and srfix has no serde for the schemas whose ids the keys seem to carry. "
            "So it does not know whether a schema registry serializer wrote them"
        )
    elif proven > 0.5 and _are_raw_sized(sample.keys) and (len(decoding) < max(_ENOUGH, len(sample.keys))):
        size = sample.keys[0].size
        why = (
            f"there is no key subject; {read}, each of {counted(size, 'byte')} (like {_raw_type(size)} keys), and {decided}. "
            "These are too few to decide whether a schema registry serializer wrote the keys"
        )
    elif proven > 0.5:
        strangers = [i for i in ids if i not in {key.schema_id for key in decoding}]
        others = f"there is no key subject; {read}, and {decided}. srfix did not look at keys with other ids"
        return KeyRole(
            standing=KeyStanding.ASSUMED,
            census=without_key_ids(census, strangers),
            source=source,
            window=sample.window,
            not_looked_at=others if strangers else None,
            could_hide=bool(strangers),
        )
    elif not decoding:
        return raw
    else:
        why = f"there is no key subject; {read}, and only {decided}, so srfix treated the keys as keys without a schema"
        could_hide = proven > _BY_CHANCE
    return replace(raw, not_looked_at=why, could_hide=could_hide)


class _Shares:
    """The share of a topic's live keys with each outcome, estimated from the keys of each id that were read."""

    def __init__(self, census: Census, sample: KeySample) -> None:
        self._weights: dict[SchemaId, int] = {}
        unframed = 0
        for partition in census.partitions:
            keys = partition.keys
            unframed += keys.unframed if keys.live_unframed_keys is None else keys.live_unframed_keys
            for count in keys.ids:
                self._weights[count.schema_id] = self._weights.get(count.schema_id, 0) + _weight(count)
        self._read: dict[SchemaId, list[KeyReading]] = {}
        for key in sample.keys:
            self._read.setdefault(key.schema_id, []).append(key.outcome)
        # If no key of an id was read, nothing is known of this id, and it does not count.
        self._total = unframed + sum(weight for schema_id, weight in self._weights.items() if schema_id in self._read)

    def carried(self, ids: Container[SchemaId]) -> float:
        """The share of the keys that seem to carry one of these ids; 0 if nothing was read."""
        weight = sum(self._weights.get(schema_id, 0) for schema_id in self._read if schema_id in ids)
        return weight / self._total if self._total else 0.0

    def of(self, *outcomes: KeyReading) -> float:
        """From 0 to 1; 0 if nothing was read."""
        weight = sum(
            self._weights.get(schema_id, 0) * sum(outcome in outcomes for outcome in keys) / len(keys)
            for schema_id, keys in self._read.items()
        )
        return weight / self._total if self._total else 0.0


def _weight(count: IdCount) -> int:
    """Keys that are live or will be; or records, if all are superseded."""
    return (count.live_keys or 0) + count.pending_keys or count.records


def _are_raw_sized(keys: Iterable[SampledKey]) -> bool:
    sizes = {key.size for key in keys}
    return len(sizes) == 1 and sizes <= _RAW_SIZES


def _raw_type(size: int) -> str:
    return "BIGINT" if size == 8 else "binary UUID"


def without_key_ids(census: Census, strangers: Iterable[SchemaId]) -> Census:
    """The census with the keys that seem to carry these ids counted as unframed."""
    ids = frozenset(strangers)
    return census.with_role(Role.KEY, lambda partition: _without(partition.keys, ids)) if ids else census


def _without(keys: RoleCensus, ids: frozenset[SchemaId]) -> RoleCensus:
    gone = [count for count in keys.ids if count.schema_id in ids]
    if not gone:
        return keys
    firsts = [*(count.first_offset for count in gone), *([] if (o := keys.first_unframed_offset) is None else [o])]
    live = None
    if keys.live_unframed_keys is not None:
        live = keys.live_unframed_keys + sum(count.live_keys or 0 for count in gone)
    return replace(
        keys,
        ids=tuple(count for count in keys.ids if count.schema_id not in ids),
        unframed=keys.unframed + sum(count.records for count in gone),
        first_unframed_offset=min(firsts),
        live_unframed_keys=live,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAsymmetry:
    topic_ids: tuple[SchemaId, ...]
    reader_id: SchemaId | None
    """The id under which the reader serialises the keys that it looks up and writes; None if srfix does not know which."""

    @property
    def missed_ids(self) -> tuple[SchemaId, ...]:
        """The ids whose keys no look-up meets, ascending; all of the topic's ids if srfix does not know which."""
        return tuple(schema_id for schema_id in self.topic_ids if schema_id != self.reader_id)


def asymmetry(
    topic_ids: Iterable[SchemaId], phantom: SubjectState, source_ids: Iterable[SchemaId]
) -> KeyAsymmetry | None:
    """Compares the id that the reader writes, by the phantom key subject, with the ids of the keys that a restore
    loads; None if they do not differ, or if nothing shows the reader's id. The reader's schema is the latest version of
    the subject that is the application's own (live before soft-deleted): neither the topic's keys, nor the source's key
    subject, nor a record has its id, because a repair registers such ids. Without one, a subject without any of the
    topic's ids was never repaired: its latest version is the reader's. So is a single id that the topic's keys carry
    beside others, because a repair would have registered all of them. If the subject holds more ids, srfix only knows
    that the reader writes one of them."""
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
