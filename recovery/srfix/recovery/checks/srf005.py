"""SRF005: the topic's keys carry schema ids that the reader does not write. Look-ups miss without any error.

Seen on Kafka Streams 2.6.3 and 2.7.0: a left join gives null after a restore, and the next update makes a second row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.checks.proofs import at_fault, in_words, rows_in_words
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.ids_in_words import MOST_NAMED, listed, named_ids
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.facts.key_role import KeyAsymmetry
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.guard.judged import JudgedStore, Prospect
    from srfix.recovery.registry import ReadableRegistry
    from srfix.serde.schemas.models import Json, Schema
    from srfix.serde.wire import SchemaId

CODE = "SRF005"


def stands_beside(facts: StoreFacts) -> str:
    """A sentence for the other findings of the store, with a blank before it; empty if there is no SRF005."""
    asymmetry = facts.key_asymmetry
    if asymmetry is None:
        return ""
    if asymmetry.reader_id is None:
        return (
            f" See also {CODE}: the reader writes keys under only one schema id, but the topic's keys carry "
            f"{listed(asymmetry.topic_ids)}. So some look-ups by key miss, and no registration repairs this."
        )
    return (
        f" See also {CODE}: the reader writes keys under schema id {asymmetry.reader_id}, not "
        f"{listed(asymmetry.missed_ids)}. So look-ups by key miss, and no registration repairs this."
    )


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    asymmetry = facts.key_asymmetry
    if asymmetry is None or facts.source is None or facts.census is None:
        return
    role, store, topic = facts.roles[Role.KEY], facts.store, facts.source.topic
    faults = at_fault(facts.census, Role.KEY, asymmetry.missed_ids)
    written = "; ".join(f"{i} is {_in_short(role.memberships[i].schema)}" for i in asymmetry.missed_ids[:MOST_NAMED])
    source_subject = store.source_subject(topic, Role.KEY)
    others = f"Other keys carry schema id {asymmetry.reader_id}, the reader's own id. "
    others = "" if asymmetry.missed_ids == asymmetry.topic_ids else others
    such_a_key = "a key with an id other than the reader's" if len(asymmetry.topic_ids) > 1 else "such a key"
    yield facts.finding(
        CODE,
        Role.KEY,
        severity=Severity.SILENT,
        schema_ids=faults,
        explanation=(
            f"The keys of topic {topic} carry {in_words(faults)}; {written}. {others}The reader of store "
            f"{store.name} of application {store.application} {_what_it_writes(asymmetry, role, context.registry)} A "
            "store compares keys byte for byte, and the schema id is part of the bytes. So after a restore a "
            f"look-up of {such_a_key} finds nothing, without any error: a join gives null, and the next update "
            "makes a second row for the same key. The two rows may even be in different "
            f"partitions.{_on_disk(facts, asymmetry)}"
        ),
        next_step=_next(asymmetry, role, source_subject),
    )


def _on_disk(facts: StoreFacts, asymmetry: KeyAsymmetry) -> str:
    """A sentence on such rows on disk, with a blank before it; empty if no rows were read, or if none carries such ids."""
    if facts.rows is None:
        return ""
    carried = facts.rows.ids(Role.KEY)
    missed = carried.intersection(asymmetry.missed_ids)
    own = carried.intersection(() if asymmetry.reader_id is None else (asymmetry.reader_id,))
    sentences = ""
    if missed:
        unmet = "" if asymmetry.reader_id is None else ". No look-up under the reader's id finds these rows"
        sentences = f" Rows on disk carry {rows_in_words(facts.rows, Role.KEY, missed)}{unmet}."
    if own:
        who = "Other rows" if missed else "Rows on disk"
        sentences += f" {who} carry {rows_in_words(facts.rows, Role.KEY, own)}, the reader's own id."
    return sentences


def _what_it_writes(asymmetry: KeyAsymmetry, role: RoleFacts, registry: ReadableRegistry) -> str:
    if asymmetry.reader_id is None:
        return (
            f"writes its look-up keys under only one schema id. {role.subject} does not show which one, because it "
            f"holds {listed(role.state.schema_ids)}."
        )
    reader = _in_short(_text_of(registry, role, asymmetry.reader_id))
    shown = (
        f"its own schema under {role.subject}"
        if role.state.versions
        else "its own schema, as the ids in rows on disk show"
    )
    return f"writes its look-up keys under schema id {asymmetry.reader_id}. This is {shown}: {reader}."


def _next(asymmetry: KeyAsymmetry, role: RoleFacts, source_subject: str) -> str:
    if len(asymmetry.topic_ids) > 1:
        change = (
            "Write a new topic with all keys under the schema that the reader writes, and build the table from "
            "the new topic."
        )
        stays = "this finding stays as long as the topic's keys carry several ids."
    else:
        change = (
            f"Let the reader write keys under the schema that the producer uses ({listed(asymmetry.topic_ids)} under "
            f"{source_subject}), or write a new topic with keys under the reader's schema and build the table from "
            "the new topic."
        )
        holds = role.subject if role.state.versions else "a row on disk"
        stays = f"this finding stays as long as {holds} holds id {asymmetry.reader_id}."
    return (
        f"No registration helps, and srfix cannot repair this. {change} Then let the application rebuild the store, "
        "because rows that the application has already written keep their key bytes. The registry cannot show whether you have "
        f"changed the reader. So {stays}"
    )


def _text_of(registry: ReadableRegistry, role: RoleFacts, schema_id: SchemaId) -> Schema | None:
    from srfix.recovery.facts.subject_state import version_at

    version = role.state.version_of(schema_id)
    if version is None:
        return role.row_memberships[schema_id].schema if schema_id in role.row_memberships else None
    answer = version_at(registry, role.subject, version.version, deleted=True)
    return None if answer is None else answer.schema


def _in_short(schema: Schema | None) -> str:
    """`record Key (id long)`, `string`: enough for a person to tell two schemas apart."""
    if schema is None:
        return "a schema that is gone"
    if schema.schema_type != "AVRO":
        return f"a schema of the type {schema.schema_type}"
    try:
        document: Json = json.loads(schema.text)
    except (ValueError, RecursionError):
        return "a schema that is not JSON, or is nested too deeply"
    match document:
        case {"type": "record", "name": str(name), "fields": list(fields)}:
            inside = ", ".join(_field(field) for field in fields)
            return f"record {name} ({inside})" if inside else f"record {name} without fields"
        case _:
            return _type(document)


def _field(field: Json) -> str:
    match field:
        case {"name": str(name), "type": type_}:
            return f"{name} {_type(type_)}"
        case _:
            return json.dumps(field)


def _type(type_: Json) -> str:
    match type_:
        case str(name) | {"type": _, "name": str(name)}:
            return name
        case list(branches):
            return " or ".join(map(_type, branches))
        case {"type": str(name), "logicalType": str(logical)}:
            return f"{name} ({logical})"
        case {"type": str(name)}:
            return name
        case _:
            return json.dumps(type_)


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """Compares the ids in the topic's keys with the id under the phantom key subject, which the reader writes."""
    if prospect.moment is not Moment.RESTORE:
        return
    judged = prospect.judged
    restores = judged.restores_source_bytes(judged.running)
    facts = None if restores is Certainty.EXCLUDED else judged.facts()
    asymmetry = None if facts is None else facts.key_asymmetry
    if facts is None or asymmetry is None:
        return
    live = facts.census is not None and _are_live(facts.census, asymmetry)
    # If the serde may get the source topic's name, the phantom subject only shows what the reader wrote before.
    writes = prospect.asks_the_phantom is Certainty.CERTAIN
    yield judged.foretold(
        CODE,
        Role.KEY,
        severity=Severity.SILENT,
        certainty=weakest((restores, Certainty.CERTAIN if live and writes else Certainty.POSSIBLE)),
        moment=Moment.RESTORE,
        subject=judged.store.changelog_subject(Role.KEY),
        schema_ids=asymmetry.missed_ids,
        explanation=_what_a_restore_brings(judged, facts, asymmetry, live=live),
        first=(
            "Before a restore, let the reader write keys under the schema that the producer uses, or write a new "
            "topic with keys under the reader's schema. No registration helps.",
        ),
    )


def _are_live(census: Census, asymmetry: KeyAsymmetry) -> bool:
    """True if a restore at this moment loads keys that a look-up misses, whichever id the reader writes."""
    live = set(asymmetry.missed_ids) & set(census.live_ids(Role.KEY))
    return not census.is_partial and len(live) > (asymmetry.reader_id is None)


def _what_a_restore_brings(judged: JudgedStore, facts: StoreFacts, asymmetry: KeyAsymmetry, *, live: bool) -> str:
    store = judged.store
    writes = (
        "under only one id, and srfix does not know which"
        if asymmetry.reader_id is None
        else f"under schema id {asymmetry.reader_id}, which is its own schema under {store.changelog_subject(Role.KEY)}"
    )
    carried = set() if facts.rows is None else facts.rows.ids(Role.KEY) & set(asymmetry.missed_ids)
    of_rows = f" Rows on disk carry {named_ids(sorted(carried))} already." if carried else ""
    when = "A restore brings" if live else "If a restore loads such keys, it brings"
    missed = (
        "and the look-ups miss some of these rows"
        if asymmetry.reader_id is None
        else "and the look-ups miss these rows"
    )
    return (
        f"The keys of topic {store.topic} carry {named_ids(asymmetry.topic_ids)}, and the reader of store {store.name} "
        f"looks keys up {writes}. A store compares keys byte for byte, with their ids. {when} rows under "
        f"{named_ids(asymmetry.missed_ids)}, {missed} without any error. The next update makes a second row.{of_rows}"
    )


CHECK: Final = Check(
    code=CODE,
    title="Keys carry schema ids that the reader would not write: look-ups miss without an error",
    severity="silent wrong results",
    meaning="A store compares keys byte for byte, and the schema id is part of the bytes. Restored keys carry the "
    "producer's id. The reader serialises its look-up key under another id. So joins find nothing, and the next "
    "update makes a second row for the same key. The two rows may even be in different partitions.",
    cause="Keys in a registry format whose schema differs between producer and reader, on any version of Kafka Streams.",
    detection=(
        "srfix compares the ids in the keys of the source topic with the application's own version under the phantom "
        "key subject. srfix takes a version there as the application's own if no key of the topic carries its id, and "
        "the source's key subject does not hold the id. A later version wins, but any live version wins over a "
        "soft-deleted one. The reader writes only one id. So if the keys carry several ids, look-ups of some "
        "keys always miss. Without a phantom key subject, srfix does not know what the reader writes, and claims "
        "nothing. With --state-dir, srfix also counts the rows in the store: how many carry the reader's id, and how many "
        "carry another id of the topic's keys."
    ),
    remedy="No registration repairs this, so srfix plan leaves it alone. Let the reader write keys under the "
    "producer's schema. Or write a new topic with keys under the reader's schema, build the table from it, and let "
    "the application rebuild the store.",
    find=check,
    foretell=foretell,
    data="look-ups by key miss rows, and updates make second rows",
)
