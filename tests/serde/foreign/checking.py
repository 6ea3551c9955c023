"""A foreign topic beside srfix: its plan, its payloads, and how what an engine made of them differs from the model."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random, SystemRandom
from typing import Any, Final

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import CaseRule, ColumnError, RegistryClient, SrfixError
from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, Struct
from srfix.serde.spark import NEWEST, ReadPlan, plan_read
from srfix.serde.wire import frame_id
from tests.serde.foreign.model import Bad, row_of
from tests.serde.foreign.planning import columns_of, refusals
from tests.serde.foreign.topics import ColumnAst, ForeignTopic, Row, draw_topic, text_of
from tests.serde.fuzz.same import same

_COUNT: Final = int(os.environ.get("SRFIX_FOREIGN", "0")) or 300
IS_NEW: Final = "SRFIX_FOREIGN" in os.environ
"""True if they are not those of every run."""
SEED: Final = int(os.environ.get("SRFIX_FOREIGN_SEED", SystemRandom().randrange(10**9) if IS_NEW else 14))
"""What they are drawn from."""
_ONLY: Final = os.environ.get("SRFIX_FOREIGN_TOPIC")
NUMBERS: Final = [int(_ONLY)] if _ONLY else list(range(_COUNT))
"""Which topics of the seed."""

_REFUSED: Final = {
    "unfed": r"no version|No version",
    "times": r"cannot be read from topic",
    "units": r"numbers with different units",
    "shared": r"one field feeds the columns",
    "unreadable": r"can be read into these columns",
    "nothing": r"gives no columns",
}
"""What the plan says, by what the model says."""


def drawn(number: int) -> ForeignTopic:
    return draw_topic(Random(f"{SEED}-{number}"))


def told(number: int, said: str) -> str:
    """With what it can be drawn again by."""
    return f"SRFIX_FOREIGN_SEED={SEED} SRFIX_FOREIGN_TOPIC={number}: {said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A topic with what it is read with."""

    number: int
    topic: ForeignTopic
    plan: ReadPlan
    columns: dict[str, ColumnAst]
    """The model's."""
    payloads: list[bytes | None]
    """As they stand in the topic."""
    wanted: list[object]
    """The model's rows."""

    def unread(self, row: Row) -> object:
        """The model's row for whoever does not look into fields that feed no column."""
        return row_of(self.topic, row, self.columns, looks_everywhere=False)


@dataclass(frozen=True, slots=True)
class Got:
    """What an engine made of a payload."""

    row: Any
    reason: str | None


def planned(
    number: int, topic: ForeignTopic, registry: FixtureRegistry, client: RegistryClient
) -> Planned | str | None:
    """What is to be compared; a sentence where the plan is not what the model says; None where both refuse it."""
    name = f"t{number}"
    names = {each: f"{name}-{each}" if topic.by_record else f"{name}-value" for each in topic.records}
    ids = [registry.seed(names[version.name], version.text()) for version in topic.versions]
    payloads = [None if row.is_tombstone else frame_id(ids[row.version], row.body) for row in topic.rows]
    columns = columns_of(topic)
    declared = None if topic.columns is None else ", ".join(f"`{c}` {text_of(a)}" for c, a in columns.items())
    wanted = refusals(topic)
    try:
        plan = plan_read(
            client,
            name,
            declared or (NEWEST if topic.reader is None else None),
            reader_schema=None if topic.reader is None else topic.reader.text(),
            subjects=list(names.values()) if topic.by_record else (),
            missing_columns="null" if topic.takes_missing else "error",
            strict=topic.is_strict,
            case_rule=CaseRule(topic.rule),
        )
    except ColumnError as error:
        if not any(re.search(_REFUSED[word], str(error)) for word in wanted):
            return (
                f"the plan is refused ({', '.join(wanted) or 'the model takes it'}): {error}\n  {how(topic)}\n  "
                + "\n  ".join(version.text() for version in topic.versions)
            )
        return None
    except SrfixError as error:
        return f"the plan is refused, {type(error).__name__}: {error}\n  {how(topic)}"
    if wanted:
        return f"the plan is not refused, but it is to be: {', '.join(wanted)}\n  {how(topic)}\n  " + "\n  ".join(
            version.text() for version in topic.versions
        )
    found = {column.name: ast_of(column.type) for column in plan.columns}
    if found != columns or list(found) != list(columns):
        return f"the columns are {found}, not {columns}\n  {how(topic)}"
    rows = [row_of(topic, row, columns) for row in topic.rows]
    return Planned(number=number, topic=topic, plan=plan, columns=columns, payloads=payloads, wanted=rows)


def ast_of(type_: ColumnType) -> ColumnAst:
    """A column's type as the model has it."""
    match type_:
        case Struct(columns):
            return ("STRUCT", {each.name: ast_of(each.type) for each in columns})
        case Array(items):
            return ("ARRAY", ast_of(items))
        case Map(values):
            return ("MAP", ast_of(values))
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
    return type_.name


def differences(given: Planned, engine: str, got: Sequence[Got]) -> Iterator[str]:
    """Each row that is not the model's, in words."""
    for row, wanted, found in zip(given.topic.rows, given.wanted, got, strict=True):
        if not agrees(wanted, found):
            yield (
                f"{engine}: {given.topic.versions[row.version].text()}\n  body {row.body.hex()}\n  {how(given.topic)}\n"
                f"  got {found!r}\n  expected {wanted!r}"
            )


def agrees(wanted: object, got: Got) -> bool:
    """Whether an engine made of a payload what the model says, for a reason that the model knows."""
    if wanted is None:
        return got.row is None and got.reason == "TOMBSTONE"
    if isinstance(wanted, Bad):
        return got.row is None and got.reason in wanted.causes
    return got.reason is None and _same(wanted, got.row)


def _same(wanted: object, got: object) -> bool:
    if isinstance(wanted, dict) and isinstance(got, dict):
        return list(wanted) == list(got) and all(_same(wanted[name], got[name]) for name in wanted)
    if isinstance(wanted, list) and isinstance(got, list):
        return len(wanted) == len(got) and all(map(_same, wanted, got))
    # Decimals differ in their digits only, 1.5 and 1.500000000.
    return same(wanted, got) or (type(wanted) is type(got) and type(got).__name__ == "Decimal" and wanted == got)


def how(topic: ForeignTopic) -> str:
    """How a topic is read, in words."""
    if topic.columns is not None:
        columns = ", ".join(f"`{name}` {text_of(column)}" for name, column in topic.columns.items())
    else:
        columns = "NEWEST" if topic.reader is None else "the reader's"
    words = [f"columns {columns}", f"rule {topic.rule}"]
    words += ["strict"] if topic.is_strict else []
    words += ["missing null"] if topic.takes_missing else []
    words += ["by record"] if topic.by_record else []
    if topic.resolves_to is not None:
        words.append(f"reader {topic.resolves_to.text()}")
    return "; ".join(words)
