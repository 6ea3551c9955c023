"""The arguments of the constructors: confluent-kafka's configuration dictionaries, and srfix's columns.

srfix knows every key of release 2.16.

srfix executes no rules: `validation.rules.execution` may only be DISABLED, `validation.rules.executor` only None, and
`validation.rules.fail.fast` has no effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Final, TypeAlias, cast

from srfix.serde.arguments import flag, flag_or_none, member, type_words
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.column_sources.row_classes import RowBuilders, dataclass_builder, row_class
from srfix.serde.columns.half import roles_of
from srfix.serde.columns.times import Times, given_times
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import format_of
from srfix.serde.hints import nearest
from srfix.serde.properties.settings_table import Setting, fields_of, taken_by
from srfix.serde.registries.given import Registry
from srfix.serde.resolve.policies import ById, Resolver, UnderOneSubject
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.plans import ColumnPlans, EncodeOrNone
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.subjects.names import Role
from srfix.serde.wire import MAX_SCHEMA_ID, MIN_SCHEMA_ID

Conf: TypeAlias = "Mapping[str, object] | None"


class SerdeClass(Enum):
    AVRO_SERIALIZER = "AvroSerializer"
    JSON_SERIALIZER = "JSONSerializer"
    AVRO_DESERIALIZER = "AvroDeserializer"
    JSON_DESERIALIZER = "JSONDeserializer"
    PROTOBUF_SERIALIZER = "ProtobufSerializer"
    PROTOBUF_DESERIALIZER = "ProtobufDeserializer"


_SERIALIZERS: Final = frozenset(
    {SerdeClass.AVRO_SERIALIZER, SerdeClass.JSON_SERIALIZER, SerdeClass.PROTOBUF_SERIALIZER}
)
_AVRO_SERIALIZER: Final = frozenset({SerdeClass.AVRO_SERIALIZER})
_DESERIALIZERS: Final = frozenset(SerdeClass) - _SERIALIZERS
_JSON: Final = frozenset({SerdeClass.JSON_SERIALIZER, SerdeClass.JSON_DESERIALIZER})
_PROTOBUF_SERIALIZER: Final = frozenset({SerdeClass.PROTOBUF_SERIALIZER})
_PROTOBUF: Final = frozenset({SerdeClass.PROTOBUF_SERIALIZER, SerdeClass.PROTOBUF_DESERIALIZER})
_ALL: Final = frozenset(SerdeClass)


@dataclass(frozen=True, slots=True, kw_only=True)
class SerdeSettings:
    """A checked configuration: each field has the value of its key in `_KEYS`, or the default."""

    auto_register: bool
    normalize: bool
    schema_id: int | None
    latest: bool
    metadata: Mapping[str, str] | None
    strategy: object
    strategy_type: object
    strategy_conf: object
    id_serializer: object
    id_deserializer: object
    reference_strategy: Callable[[Any, Any], object] | None
    skip_known_types: bool
    validate: bool
    strict: bool
    strict_allow_default: bool
    times: Times


def settings(kind: SerdeClass, conf: Conf) -> SerdeSettings:
    if conf is not None and not isinstance(conf, Mapping):
        raise UsageError(f"The configuration of {kind.value} is {type_words(conf)}; it must be a dict, or None.")
    entries = conf or {}
    for name in entries:
        if name not in _KEYS or kind not in _KEYS[name].of:
            raise UsageError(_unknown(kind, name))
    serde_settings = SerdeSettings(**fields_of(_KEYS, entries))
    if kind in _SERIALIZERS and serde_settings.latest and serde_settings.auto_register:
        raise UsageError(
            "use.latest.version and auto.register.schemas (on unless it is False) exclude each other: set "
            "auto.register.schemas to False to write under the latest version."
        )
    return serde_settings


def check_no_rules(rule_conf: object, rule_registry: object) -> None:
    """:raises UsageError: unless both are empty, because srfix does not execute rules."""
    if rule_conf:
        raise UsageError(f"rule_conf is given, but {_NO_RULES}")
    if rule_registry is not None and any(
        list(cast("Callable[[], list[object]]", getattr(rule_registry, name, list))())
        for name in ("get_executors", "get_actions")
    ):
        raise UsageError(f"rule_registry has executors or actions, but {_NO_RULES}")


def _unknown(kind: SerdeClass, name: object) -> str:
    keys = taken_by(_KEYS, kind)
    owners = sorted(other.value for other in (_KEYS[name].of if isinstance(name, str) and name in _KEYS else ()))
    owner = f" It is a key of {' and '.join(owners)}." if owners else ""
    near = nearest(name, keys) if isinstance(name, str) else None
    advice = (
        f"Do you mean {near!r}?" if near and not owner else f"The keys of {kind.value} are {', '.join(sorted(keys))}."
    )
    return f"{kind.value} has no configuration key {name!r}.{owner} {advice}"


def _schema_id(name: str, value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} is {type_words(value)}; it must be a schema id (an int), or None.")
    if not MIN_SCHEMA_ID <= value <= MAX_SCHEMA_ID:
        raise UsageError(f"{name} is {value}; registries assign ids from {MIN_SCHEMA_ID} to {MAX_SCHEMA_ID}.")
    return value


def _properties(name: str, value: object) -> object:
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type_words(value)}; it must be a dict of metadata properties, or None.")
    if not all(isinstance(part, str) for item in (value or {}).items() for part in item):
        raise UsageError(f"{name} must be a dict of texts to texts: the metadata properties to look for.")
    return value


def _strategy(name: str, value: object) -> object:
    if not callable(value):
        raise UsageError(f"{name} is {type_words(value)}; it must be a callable (context, file descriptor) -> subject.")
    return value


def _zigzag(name: str, value: object) -> None:
    if flag(name, value):
        raise UsageError(
            f"{name} is True, but message indexes are written and read only in the present format, as in confluent-kafka "
            "2.16. Leave it out, or set it to False."
        )


def _rules_disabled(name: str, value: object) -> None:
    modes = ("DISABLED", "BEFORE_DOMAIN_RULES", "AFTER_DOMAIN_RULES")
    mode = value.value if isinstance(value, Enum) else value
    if mode not in modes:
        raise UsageError(f"{name} is {value!r}; it must be one of {', '.join(modes)}.")
    if mode != modes[0]:
        raise UsageError(f"{name} is {mode}, but {_NO_RULES}")


def _no_executor(name: str, value: object) -> None:
    if value is not None:
        raise UsageError(f"{name} is given, but {_NO_RULES}")


_NO_RULES: Final = (
    "srfix executes no rules (no data contracts, no CSFLE, no inline validation rules): leave it out, or use "
    "confluent_kafka's own serde for this topic."
)


# Other modules check strategies and framings.
_KEYS: Final[Mapping[str, Setting[SerdeClass]]] = {
    "auto.register.schemas": Setting(of=_SERIALIZERS, check=flag, default=True, field="auto_register"),
    "normalize.schemas": Setting(of=_SERIALIZERS, check=flag, default=False, field="normalize"),
    "use.schema.id": Setting(of=_SERIALIZERS, check=_schema_id, field="schema_id"),
    "use.latest.version": Setting(of=_ALL, check=flag, default=False, field="latest"),
    "use.latest.with.metadata": Setting(of=_ALL, check=_properties, field="metadata"),
    "subject.name.strategy": Setting(of=_ALL, field="strategy"),
    "subject.name.strategy.type": Setting(of=_ALL, field="strategy_type"),
    "subject.name.strategy.conf": Setting(of=_ALL, field="strategy_conf"),
    "schema.id.serializer": Setting(of=_SERIALIZERS, field="id_serializer"),
    "schema.id.deserializer": Setting(of=_DESERIALIZERS, field="id_deserializer"),
    "reference.subject.name.strategy": Setting(of=_PROTOBUF_SERIALIZER, check=_strategy, field="reference_strategy"),
    "skip.known.types": Setting(of=_PROTOBUF_SERIALIZER, check=flag, default=True, field="skip_known_types"),
    "use.deprecated.format": Setting(of=_PROTOBUF, check=_zigzag, default=False),
    "times": Setting(
        of=_ALL - _PROTOBUF_SERIALIZER, check=lambda _, value: given_times(value), default="datetimes", field="times"
    ),
    "validate": Setting(of=_JSON, check=flag, default=True, field="validate"),
    "validate.strict": Setting(of=_AVRO_SERIALIZER, check=flag, default=False, field="strict"),
    "validate.strict.allow.default": Setting(
        of=_AVRO_SERIALIZER, check=flag, default=False, field="strict_allow_default"
    ),
    "validation.rules.execution": Setting(of=_SERIALIZERS, check=_rules_disabled, default="DISABLED"),
    "validation.rules.fail.fast": Setting(of=_SERIALIZERS, check=flag, default=False),
    "validation.rules.executor": Setting(of=_SERIALIZERS, check=_no_executor),
}

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
            raise UsageError(f"into is {type_words(into)}; it must be a dataclass (the class, not an instance).")
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
    refuse_without_columns("fed", {**options, "strict": options["strict"] or None})
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
                "case_rule does not work together with a schema to write under: names must match that schema exactly "
                "(as with ksqlDB's VALUE_SCHEMA_ID). Leave out one of them."
            )
        # The schema was made for these bodies, so they are checked against it only on request.
        validate = validate and (not is_own or (conf or {}).get("validate") is True)
        rule = self._spec.case_rule if is_own else CaseRule.EXACT
        spec = replace(self._spec, validate=validate, times=times, case_rule=rule)
        self._plans = ColumnPlans(format_of(schema_type), spec)
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
    refuse_without_columns("written", {**options, "cut_times": options["cut_times"] or None})
    return None


def _matching(case_rule: CaseRule | str | None) -> tuple[CaseRule, Any]:
    rule = CaseRule.UNIQUE if case_rule is None else member("case_rule", CaseRule, case_rule)
    return rule, "keep" if rule is CaseRule.EXACT else "upper"


def refuse_without_columns(what: str, arguments: Mapping[str, object]) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise UsageError(
                f"{name} says how columns are {what}, but no columns were given. Pass columns='ID "
                f"BIGINT, …', or leave {name} out."
            )
