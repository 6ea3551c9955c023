"""What columns add to confluent-kafka's serializers: rows are matched to them whatever their letter case, and written under
their internal schema, as ksqlDB would register it; or under the schema that confluent-kafka's arguments name."""

from __future__ import annotations

from typing import Any

from srfix.serde.arguments import flag, flag_or_none, member
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import Times
from srfix.serde.confluent.config import Conf
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import format_of
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.plans import ColumnPlans, EncodeOrNone
from srfix.serde.subjects.names import Role


class WrittenColumns:
    """Columns and how rows are matched to them."""

    def __init__(
        self,
        columns: GivenColumns,
        *,
        case_rule: CaseRule | str | None,
        wrap: bool | None,
        cut_times: bool,
        internal: dict[str, Any],
    ) -> None:
        """
        :param internal: what says how the internal schema is made.
        :raises ColumnError: if the columns cannot be read.
        """
        self._case_rule = CaseRule.UNIQUE if case_rule is None else member("case_rule", CaseRule, case_rule)
        self._says_case_rule = case_rule is not None
        self._wrap, self._cut_times = flag_or_none("wrap", wrap), flag("cut_times", cut_times)
        names: Any = "keep" if self._case_rule is CaseRule.EXACT else "upper"
        self.columns = given_columns(columns, names=names, dataclass_names=names)
        self.roles = roles_of(self.columns)
        self._internal = internal

    def start(self, schema_type: str, *, validate: bool, is_own: bool, conf: Conf, times: Times) -> None:
        """Takes what the serializer knows.

        :param is_own: True if the rows are written under the columns' internal schema.
        :raises UsageError: if there is a case rule where names are exact: under a schema that exists.
        """
        if not is_own and self._says_case_rule and self._case_rule is not CaseRule.EXACT:
            raise UsageError(
                "case_rule is given, and a schema to write under, whose names are exact (as ksqlDB's with a "
                "VALUE_SCHEMA_ID). Leave out one of them."
            )
        # Nobody needs to check bodies against a schema that was made for them, unless it is asked for.
        validate = validate and (not is_own or (conf or {}).get("validate") is True)
        self._plans = ColumnPlans(
            format_of(schema_type),
            self.columns,
            self._wrap,
            self._case_rule,
            self._internal,
            validate=validate,
            cut_times=self._cut_times,
            times=times,
        )
        self._is_own = is_own

    def schema(self, role: Role) -> Schema:
        """The columns' internal schema."""
        return self._plans.internal_schema(role)

    def encode(self, schema: Schema, references: tuple[str, ...], role: Role) -> EncodeOrNone:
        """How rows are written under a schema.

        :raises SchemaError: if columns and schema do not go together.
        """
        make = self._plans.encode if self._is_own else self._plans.encode_under
        return make(schema, references, role)


def written_columns(
    columns: GivenColumns | None,
    *,
    case_rule: CaseRule | str | None = None,
    wrap: bool | None = None,
    cut_times: bool = False,
    full_name: str | None = None,
    generation: Generation | None = None,
    written_by: WrittenBy | None = None,
) -> WrittenColumns | None:
    """The columns that a serializer was given; None without any.

    :raises UsageError: if there is what needs columns, and there are none.
    """
    if columns is None:
        given: dict[str, object] = {
            "case_rule": case_rule,
            "wrap": wrap,
            "cut_times": cut_times or None,
            "full_name": full_name,
        }
        given |= {"generation": generation, "written_by": written_by}
        for name, value in given.items():
            if value is not None:
                raise UsageError(
                    f"{name} is given, and says how columns are written; but there are none. Pass columns='ID BIGINT, …', or "
                    f"leave {name} out."
                )
        return None
    internal: dict[str, Any] = {
        "generation": Generation.UP_TO_0_28 if generation is None else member("generation", Generation, generation),
        "written_by": WrittenBy.SERIALIZER if written_by is None else member("written_by", WrittenBy, written_by),
    }
    if full_name is not None:
        if not isinstance(full_name, str):
            raise UsageError(
                f"full_name is of the type {type(full_name).__name__}; it must be a record's name, or None."
            )
        internal["full_name"] = full_name
    return WrittenColumns(columns, case_rule=case_rule, wrap=wrap, cut_times=cut_times, internal=internal)
