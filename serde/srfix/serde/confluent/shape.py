"""What columns add to confluent-kafka's constructors: rows of exactly those columns, whatever the letter case of the writer's
fields, under all of confluent-kafka's configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from srfix.serde.arguments import flag, flag_or_none, member, type_words
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.column_sources.into_dataclass import dataclass_builder, row_class
from srfix.serde.columns.half import Half, half_of, roles_of
from srfix.serde.columns.types import Columns
from srfix.serde.confluent.config import SerdeSettings
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.registries.given import Registry
from srfix.serde.resolve.policies import ById, Resolver, UnderOneSubject
from srfix.serde.subjects.names import Role

AnyPolicy: TypeAlias = "Resolver | str"
"""What the constructors take as `policy`: one of `srfix.serde`, or the word `by-id` or `one-subject`."""


class Shape:
    """Columns and how they are fed. Picklable."""

    def __init__(
        self,
        columns: GivenColumns | None,
        *,
        into: type[Any] | None,
        case_rule: CaseRule | str | None,
        wrap: bool | None,
        strict: bool,
    ) -> None:
        """
        :param columns: in any form; None takes those of `into`. A dataclass is both.
        :raises ColumnError: if the columns cannot be read, or the dataclass does not go together with them.
        """
        self.case_rule = CaseRule.UNIQUE if case_rule is None else member("case_rule", CaseRule, case_rule)
        self.wrap, self.strict = flag_or_none("wrap", wrap), flag("strict", strict)
        given: Any = into if columns is None else columns
        self.into = row_class(columns) if into is None else into
        if into is not None and row_class(into) is None:
            raise UsageError(f"into is {type_words(into)}; it must be a dataclass, the class itself.")
        names: Any = "keep" if self.case_rule is CaseRule.EXACT else "upper"
        self.columns: Columns = given_columns(given, dataclass_names=names)
        self._builders: dict[Role, Callable[[object], object]] = {}
        problems: list[ColumnError] = []
        roles = roles_of(self.columns)
        for role in roles if self.into is not None else ():
            try:
                self.build(role)
            except ColumnError as error:
                problems.append(error)
        if problems and len(problems) == len(roles):
            raise problems[-1]

    def half(self, role: Role) -> Half:
        """:raises ColumnError: if there is no column for this half, or it cannot be used."""
        return half_of(self.columns, role, self.wrap)

    def build(self, role: Role) -> Callable[[object], object]:
        """What makes an instance of a key's or a value's row.

        :raises ColumnError: if the dataclass and the columns of this half do not go together.
        """
        assert self.into is not None
        if role not in self._builders:
            self._builders[role] = dataclass_builder(self.into, self.half(role).columns, self.case_rule)
        return self._builders[role]

    def __reduce__(self) -> tuple[object, ...]:
        return _shape, (self.columns, self.into, self.case_rule, self.wrap, self.strict)


def _shape(columns: Columns, into: type[Any] | None, case_rule: CaseRule, wrap: bool | None, strict: bool) -> Shape:
    return Shape(columns, into=into, case_rule=case_rule, wrap=wrap, strict=strict)


def shape_of(
    columns: GivenColumns | None,
    *,
    into: type[Any] | None = None,
    case_rule: CaseRule | str | None = None,
    wrap: bool | None = None,
    strict: bool = False,
) -> Shape | None:
    """The columns that a constructor was given; None without any.

    :raises UsageError: if there is what needs columns, and there are none.
    """
    if columns is not None or into is not None:
        return Shape(columns, into=into, case_rule=case_rule, wrap=wrap, strict=strict)
    for name, value in (("case_rule", case_rule), ("wrap", wrap), ("strict", strict or None)):
        if value is not None:
            raise UsageError(
                f"{name} is given, and says how columns are fed; but there are none. Pass columns='ID BIGINT, …', or leave "
                f"{name} out."
            )
    return None


def policy_of(policy: AnyPolicy | None, registry: Registry | None) -> Resolver | None:
    """The policy that was given, over the registry where it is a word.

    :raises UsageError: if it is no policy.
    """
    if policy is None:
        return None
    if registry is None:
        raise UsageError("policy is given, and there is no registry to ask. Pass a schema_registry_client.")
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


def remade(shape: Shape | None, policy: AnyPolicy | None) -> dict[str, Any]:
    """The arguments that a copy in another process is made with."""
    if shape is None:
        return {"policy": policy}
    options = {"columns": shape.columns, "into": shape.into, "case_rule": shape.case_rule}
    return {**options, "wrap": shape.wrap, "strict": shape.strict, "policy": policy}


def check_no_latest(settings: SerdeSettings) -> None:
    """:raises UsageError: if a configuration asks for the latest version as the reader's schema beside columns."""
    if settings.latest or settings.metadata is not None:
        raise UsageError(
            "columns say what a row has, and so do use.latest.version and use.latest.with.metadata. Leave one of them out."
        )
