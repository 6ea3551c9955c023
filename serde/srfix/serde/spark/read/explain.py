"""A read plan as a text: at most ten lines (`summary`), or the whole plan (`explanation`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import shorten, wrap
from typing import Final

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import print_columns, print_type
from srfix.serde.errors import ColumnError, EngineRefusedError, SchemaError
from srfix.serde.formats.avro import projection
from srfix.serde.formats.avro.read.decoder import left_to_python
from srfix.serde.formats.table import RESOLVING, SCHEMA_FORMATS, Format, schema_module_of
from srfix.serde.printable import path_words
from srfix.serde.resolve.policies import ById, DualSubject, PlannablePolicy, UnderOneSubject
from srfix.serde.spark.interface import LABEL, WIDTH, Feed, ListedVersion, PlannedSchema, first_ones, short_text
from srfix.serde.spark.read.decisions import ReadDecisions
from srfix.serde.spark.read.jvm.read import UNSEEN, jvm_read

_TYPE_WIDTH: Final = 30
_RULES: Final = {
    CaseRule.UNIQUE: "the field with exactly the column's name, otherwise the only field with that name ignoring case",
    CaseRule.EXACT: "the field with exactly the column's name",
    CaseRule.KSQLDB: "as ksqlDB since 0.13: a field feeds the column with exactly the field's name, otherwise the column with "
    "the field's name in upper case; if several fields feed one column, the last one counts",
    CaseRule.KSQLDB_2020: "as ksqlDB up to 0.12: srfix compares the names in upper case; if several fields match, the last "
    "one counts",
}


def explanation(plan: ReadDecisions) -> str:
    """The text of `ReadPlan.explain(extended=True)`, without a line break at its end."""
    refusals = [
        line
        for refusal in plan.refusals
        for line in _entry(f"id {refusal.schema_id}", f"{refusal.reason.value}: {refusal.error.message}")
    ]
    refused = [["Refused when the plan was made", *refusals]] if refusals else []
    blocks = [_head(plan), *_schemas(plan), *refused, _engines(plan)]
    return "\n\n".join("\n".join(block) for block in blocks)


def _head(plan: ReadDecisions) -> list[str]:
    lines = [f"The {plan.role.value}s of topic {plan.topic!r}: {format_words(plan)}"]
    if (words := resolution_words(plan)) is not None:
        lines += _entry("resolution", words)
    lines += _entry("columns", _columns_words(plan))
    if plan.newest is not None:
        newest = plan.newest
        lines += _entry("", f"of version {newest.version} of {newest.subject!r} (schema id {newest.schema_id})")
        for dropped in newest.dropped:
            lines += _entry("", f"left out {path_words(dropped.path)}: {dropped.reason}")
    if plan.format is None or not plan.format.needs_columns:
        lines += _entry("case rule", f"{plan.case_rule.value}: {_RULES[plan.case_rule]}")
    if plan.policy is not None:
        lines += _entry("policy", policy_words(plan))
        lines += _entry("asked", ", ".join(versions_words(plan)))
    return lines


def _columns_words(plan: ReadDecisions) -> str:
    bare = "" if plan.wrapped else "; a body is its bare value"
    times = "times as the integers in the record; " if plan.times == "integers" else ""
    return f"{times}{print_columns(plan.columns)}{bare}"


def format_words(plan: ReadDecisions) -> str:
    if plan.format is not None:
        return plan.format.word
    return f"{' or '.join(schema_format.word for schema_format in SCHEMA_FORMATS)}, as each schema says"


def resolution_words(plan: ReadDecisions) -> str | None:
    newest = plan.newest
    reader, resolving = plan.reader, schema_module_of(RESOLVING)
    if reader is not None and (newest is None or resolving.has_hints(reader.text, reader.references)):
        whose = (
            "the reader's schema" if newest is None else f"version {newest.version} of {newest.subject!r}, the newest,"
        )
        return f"as in Avro: aliases, defaults and promotions of {whose} count"
    if reader is not None or not any(map(_has_hints, plan.schemas)):
        return None
    if plan.case_rule in (CaseRule.KSQLDB, CaseRule.KSQLDB_2020):
        return "as in ksqlDB: aliases and defaults in the schemas do not count"
    return (
        "by the columns: aliases and defaults in the schemas do not count, as in ksqlDB. NEWEST or reader_schema= makes them "
        "count"
    )


def _has_hints(planned: PlannedSchema) -> bool:
    if planned.format is None:
        return False
    try:
        resolved = planned.resolved
        return schema_module_of(planned.format).has_hints(resolved.schema.text, resolved.references)
    except SchemaError:
        return False


def policy_words(plan: ReadDecisions) -> str:
    policy, role = plan.policy, plan.role
    kind = type(policy).__name__
    if isinstance(policy, ById):
        return f"any id that the registry knows ({kind})"
    subjects = policy.subjects(topic=plan.topic, role=role) if isinstance(policy, PlannablePolicy) else ()
    match policy, subjects:
        case UnderOneSubject(), (subject,):
            return f"an id whose schema is registered under {subject!r} ({kind})"
        case DualSubject(), (first, second):
            return f"an id whose schema is registered under {first!r}, otherwise {second!r} ({kind})"
        case UnderOneSubject() | DualSubject(), _:
            return f"an id whose schema is registered under a subject named after its record ({kind})"
        case _:
            return kind


def versions_words(plan: ReadDecisions) -> Iterator[str]:
    for subject in plan.subjects:
        count = sum(version.subject == subject for version in plan.listed)
        yield f"{subject!r} ({_number(count, 'version') if count else 'no such subject'})"


def _schemas(plan: ReadDecisions) -> Iterator[list[str]]:
    first: dict[tuple[tuple[Feed, ...], tuple[str, ...]], int] = {}
    types = {column.name: shorten(print_type(column.type), _TYPE_WIDTH, placeholder="…") for column in plan.columns}
    for planned in plan.schemas:
        format_ = planned.resolved.schema.schema_type if planned.format is None else planned.format.word
        lines = [f"Schema id {planned.schema_id}: {format_}", *_places(planned, plan.listed)]
        if planned.problem is not None:
            reason = planned.problem.row_reason
            assert reason is not None
            lines += _entry("bad rows", f"{reason.value}: {planned.problem.message}")
        feeds = (planned.feeds, planned.unused)
        same = first.setdefault(feeds, planned.schema_id)
        if same != planned.schema_id:
            lines += _entry("fields", f"the same as in schema id {same}")
        else:
            lines += _table(planned, types)
        yield lines


def _places(planned: PlannedSchema, listed: Iterable[ListedVersion]) -> Iterator[str]:
    places = [
        f"version {place.version} of {place.subject!r}" for place in listed if place.schema_id == planned.schema_id
    ]
    if places:
        yield from _entry("is", ", ".join(places))
    resolved = planned.resolved
    if resolved.subject is not None:
        other = f", where it has the id {resolved.registered_id}" if resolved.ids_differ else ""
        yield from _entry("accepted", f"under {resolved.subject!r}{other}")
    if planned.second is not None:
        yield from _entry("note", planned.second.note)


def _table(planned: PlannedSchema, types: dict[str, str]) -> list[str]:
    rows = [(feed.column, types.get(feed.column, ""), _source(feed)) for feed in planned.feeds]
    name = max((len(column) for column, _, _ in rows), default=0)
    type_ = max((len(shown) for _, shown, _ in rows), default=0)
    lines = [f"  {column:<{name}}  {shown:<{type_}}  <- {source}" for column, shown, source in rows]
    if planned.unused:
        lines += _entry("not read", ", ".join(planned.unused))
    return lines


def _source(feed: Feed) -> str:
    if feed.field is None and feed.default is not None:
        return f"{feed.default}: the default of the reader's schema"
    source = "null: no field feeds it" if feed.field is None else feed.field or "the body"
    if feed.refusal is not None:
        why, _, _ = feed.refusal.partition(", at ")
        return f"{source} (makes the row bad: {why})"
    return source if feed.detail is None else f"{source} ({feed.detail})"


def _engines(plan: ReadDecisions) -> list[str]:
    lines = ["Engines"]
    try:
        plan.spark_schema()
    except ColumnError as error:
        return [*lines, *_entry("both", f"refused: {error.message}")]
    asks = "" if plan.policy is None else "; it asks the policy when it meets other ids, refused ids or GUIDs"
    lines += _entry("arrow", f"reads everything{asks}")
    for sentence in _kernel(plan):
        lines += _entry("", sentence)
    try:
        read = jvm_read(plan)
    except EngineRefusedError as error:
        for number, reason in enumerate(error.reasons):
            lines += _entry("" if number else "jvm", f"refused: {reason}")
        return lines
    shapes = [_and(map(str, shape.schema_ids)) for shape in read.shapes]
    jvm_words = f"reads {_number(len(shapes), 'shape')} of schemas: ids {'; '.join(shapes)}" if shapes else "reads none"
    lines += _entry("jvm", jvm_words)
    if read.left:
        lines += _entry("", f"{read.left_over}.")
    lines += _entry("", "cannot see:")
    for sentence in UNSEEN:
        lines += _entry("", f"- {sentence}")
    return lines


def _kernel(plan: ReadDecisions) -> Iterator[str]:
    avro = [one for one in plan.schemas if one.format is Format.AVRO and one.problem is None]
    left: dict[str, list[int]] = {}
    for planned in avro:
        why = left_to_python(projection(planned.resolved.schema.text, plan.spec, planned.resolved.references))
        if why is not None:
            left.setdefault(why, []).append(planned.schema_id)
    if avro:
        yield "natively if an executor has srfix-kernel, otherwise by Python" + (", and:" if left else "")
    for why, ids in left.items():
        yield f"- {_and(map(str, ids))}: {why}"


def _entry(label: str, text: str) -> list[str]:
    first, *more = wrap(text, WIDTH - LABEL, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"  {label:<{LABEL - 4}}  {first}", *(f"{'':{LABEL}}{line}" for line in more)]


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _and(words: Iterable[str]) -> str:
    *front, last = words
    return f"{', '.join(front)} and {last}" if front else last


_IDS: Final = 8


def summary(plan: ReadDecisions) -> str:
    """The text of `ReadPlan.explain()`, without a line break at its end."""
    rule = "" if plan.format is not None and plan.format.needs_columns else f", case rule {plan.case_rule.value}"
    return short_text(f"The {plan.role.value}s of topic {plan.topic!r}: {format_words(plan)}{rule}", _entries(plan))


def _entries(plan: ReadDecisions) -> Iterator[tuple[str, str]]:
    resolution, left_out = resolution_words(plan), ""
    if plan.newest is not None and plan.newest.dropped:
        left_out = f"; left out {', '.join(path_words(dropped.path) for dropped in plan.newest.dropped)}"
    if resolution is not None:
        yield "resolution", f"{resolution}{left_out}"
    yield "columns", _columns_words(plan)
    if plan.newest is not None and resolution is None:
        yield "newest", f"version {plan.newest.version} of {plan.newest.subject!r}{left_out}"
    if plan.policy is not None:
        yield "policy", policy_words(plan)
        ids = _ids(planned.schema_id for planned in plan.schemas if planned.problem is None)
        yield "reads", f"{ids or 'no id'}, of {', '.join(versions_words(plan))}"
    bad: dict[str, list[int]] = {}
    for planned in plan.schemas:
        if planned.problem is not None and (reason := planned.problem.row_reason) is not None:
            bad.setdefault(reason.value, []).append(planned.schema_id)
    if bad:
        yield "bad rows", "; ".join(f"{_ids(ids)} ({reason})" for reason, ids in bad.items())
    if plan.refusals:
        yield "refused", _ids(refusal.schema_id for refusal in plan.refusals)
    if empty := "; ".join(_empty(plan)):
        yield "null", empty
    yield "engines", _engine_words(plan)


def _empty(plan: ReadDecisions) -> Iterator[str]:
    for column in plan.columns:
        ids = [
            planned.schema_id
            for planned in plan.schemas
            if planned.problem is None
            and any(
                feed.column == column.name and feed.field is None and feed.default in (None, "null")
                for feed in planned.feeds
            )
        ]
        if ids:
            yield f"{column.name} ({_ids(ids)})"


def _engine_words(plan: ReadDecisions) -> str:
    try:
        plan.spark_schema()
    except ColumnError as error:
        return f"none: {error.message}"
    try:
        jvm_read(plan)
    except EngineRefusedError as error:
        return f"arrow; jvm refuses: {error.reasons[0]}"
    return "jvm and arrow"


def _ids(ids: Iterable[int]) -> str:
    sorted_ids = sorted(ids)
    if not sorted_ids:
        return ""
    return f"{'id' if len(sorted_ids) == 1 else 'ids'} {first_ones(map(str, sorted_ids), _IDS)}"
