"""Adds columns to confluent-kafka's constructors. The columns work with every setting of confluent-kafka.

A deserializer gives rows of exactly those columns, whatever the letter case of the writer's fields (`Shape`). A
serializer matches rows to the columns in the same way. It writes under the columns' internal schema, as ksqlDB would
register it, or under the schema of confluent-kafka's arguments (`WrittenColumns`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

from srfix.serde.arguments import flag, flag_or_none, member, type_words
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.column_sources.row_classes import RowBuilders, dataclass_builder, row_class
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns
from srfix.serde.confluent.config import Conf, SerdeSettings
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import format_of
from srfix.serde.registries.given import Registry
from srfix.serde.resolve.policies import ById, Resolver, UnderOneSubject
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.plans import ColumnPlans, EncodeOrNone
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role

AnyPolicy: TypeAlias = "Resolver | str"
"""The argument `policy` of the constructors: a policy of `srfix.serde`, or the word `by-id` or `one-subject`."""


class Shape:
    """Columns of any form (None for those of `into`; a dataclass is both), and the rules for the fields that feed them."""

    def __init__(self, columns: GivenColumns | None, into: type[Any] | None, options: Mapping[str, Any]) -> None:
        rule, names = _matching(options["case_rule"])
        wrap, strict = flag_or_none("wrap", options["wrap"]), flag("strict", options["strict"])
        column_source: Any = into if columns is None else columns
        self.into = row_class(columns) if into is None else into
        if into is not None and row_class(into) is None:
            raise UsageError(f"into is {type_words(into)}; it must be a dataclass, the class itself.")
        self.columns: Columns = given_columns(column_source, dataclass_names=names)
        self._spec = ReadSpec(columns=self.columns, wrap=wrap, case_rule=rule, strict=strict)
        self.builders = None if self.into is None else RowBuilders(self.columns, partial(self._builder, self.into))
        self.options = {**options, "columns": self.columns, "into": self.into}
        """The arguments with which another process makes a copy."""

    def _builder(self, into: type[Any], role: Role) -> Callable[[object], object]:
        return dataclass_builder(into, self.half(role).known_columns, self._spec.case_rule)

    def half(self, role: Role) -> ReadSpec:
        return self._spec.half(role)


def shape_of(columns: GivenColumns | None, into: type[Any] | None, **options: Any) -> Shape | None:
    """The columns that were passed to a constructor; None if there are none."""
    if columns is not None or into is not None:
        return Shape(columns, into, options)
    _refuse_without_columns("fed", {**options, "strict": options["strict"] or None})
    return None


def policy_of(policy: AnyPolicy | None, registry: Registry | None) -> Resolver | None:
    if policy is None:
        return None
    if registry is None:
        raise UsageError("policy is given, but there is no registry to ask. Pass a schema_registry_client.")
    if policy == "by-id":
        return ById(registry)
    if policy == "one-subject":
        return UnderOneSubject(registry)
    if isinstance(policy, type) or not callable(getattr(policy, "resolve", None)):
        what = repr(policy) if isinstance(policy, str) else type_words(policy)
        raise UsageError(
            f"policy is {what}; it must be 'by-id', 'one-subject', or a policy of srfix.serde: DualSubject(registry, "
            "first=…, second=…), UnderOneSubject(registry), ById(registry)."
        )
    assert not isinstance(policy, str)
    return policy


def check_no_latest(settings: SerdeSettings) -> None:
    if settings.latest or settings.metadata is not None:
        raise UsageError(
            "Both columns and use.latest.version (or use.latest.with.metadata) define what a row has. Leave one of "
            "them out."
        )


class WrittenColumns:
    """Columns, and the rules that match rows to them."""

    def __init__(self, columns: GivenColumns, options: Mapping[str, Any]) -> None:
        generation, written_by, full_name = map(options.get, ("generation", "written_by", "full_name"))
        generation = Generation.UP_TO_0_28 if generation is None else member("generation", Generation, generation)
        written_by = WrittenBy.SERIALIZER if written_by is None else member("written_by", WrittenBy, written_by)
        if full_name is not None and not isinstance(full_name, str):
            raise UsageError(
                f"full_name is of the type {type(full_name).__name__}; it must be a record's name, or None."
            )
        rule, names = _matching(options["case_rule"])
        self._says_case_rule = options["case_rule"] is not None
        wrap, cut_times = flag_or_none("wrap", options["wrap"]), flag("cut_times", options["cut_times"])
        self.columns = given_columns(columns, names=names, dataclass_names=names)
        self.roles = roles_of(self.columns)
        spec = WriteSpec(generation=generation, written_by=written_by, full_name=full_name)
        self._spec = replace(spec, columns=self.columns, wrap=wrap, case_rule=rule, cut_times=cut_times)
        self.options = {**options, "columns": self.columns}
        """The arguments with which another process makes a copy."""

    def start(self, schema_type: str, *, validate: bool, is_own: bool, conf: Conf, times: Times) -> None:
        """Takes the serializer's settings. `is_own` says that rows are written under the columns' internal schema."""
        if not is_own and self._says_case_rule and self._spec.case_rule is not CaseRule.EXACT:
            raise UsageError(
                "case_rule does not work together with a schema to write under: its names must match exactly (as with "
                "ksqlDB's VALUE_SCHEMA_ID). Leave out one of them."
            )
        # The schema was made for these bodies, so they are checked against it only on request.
        validate = validate and (not is_own or (conf or {}).get("validate") is True)
        self._plans = ColumnPlans(format_of(schema_type), replace(self._spec, validate=validate, times=times))
        self._is_own = is_own

    def schema(self, role: Role) -> Schema:
        return self._plans.internal_schema(role)

    def encode(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        make = self._plans.encode if self._is_own else self._plans.encode_under
        return make(schema, references, role)


def written_columns(columns: GivenColumns | None, **options: Any) -> WrittenColumns | None:
    """The columns that were passed to a serializer; None if there are none."""
    if columns is not None:
        return WrittenColumns(columns, options)
    _refuse_without_columns("written", {**options, "cut_times": options["cut_times"] or None})
    return None


def _matching(case_rule: CaseRule | str | None) -> tuple[CaseRule, Any]:
    rule = CaseRule.UNIQUE if case_rule is None else member("case_rule", CaseRule, case_rule)
    return rule, "keep" if rule is CaseRule.EXACT else "upper"


def _refuse_without_columns(what: str, arguments: Mapping[str, object]) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(
                f"{name} is only for columns (how they are {what}), but no columns were given. Pass columns='ID "
                f"BIGINT, …', or leave {name} out."
            )
