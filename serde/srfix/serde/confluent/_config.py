"""confluent-kafka's configuration dictionaries: every key of release 2.16 is known by its name.

| key | serializers | deserializers |
|---|---|---|
| `auto.register.schemas`, `normalize.schemas`, `use.schema.id` | yes | - |
| `use.latest.version`, `use.latest.with.metadata` | yes | yes |
| `subject.name.strategy`, `.type`, `.conf` | yes | yes |
| `schema.id.serializer` / `schema.id.deserializer` | yes | yes |
| `validate` | JSON | JSON |
| `validate.strict`, `validate.strict.allow.default` | Avro | - |
| `validation.rules.execution` | only DISABLED | - |
| `validation.rules.fail.fast` | taken, without effect | - |
| `validation.rules.executor` | only None | - |

A key that is none of them, or belongs to another serde, is a `UsageError` (a ValueError) that names the nearest.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, cast

from srfix.serde.errors import UsageError
from srfix.serde.wire import MAX_SCHEMA_ID, MIN_SCHEMA_ID

__all__ = ["Conf", "Kind", "Settings", "check_callable", "check_no_rules", "settings"]

Conf: TypeAlias = "Mapping[str, object] | None"
"""A configuration as confluent-kafka's constructors take it."""


class Kind(Enum):
    """A serde, by the name of its class."""

    AVRO_SERIALIZER = "AvroSerializer"
    JSON_SERIALIZER = "JSONSerializer"
    AVRO_DESERIALIZER = "AvroDeserializer"
    JSON_DESERIALIZER = "JSONDeserializer"


_SERIALIZERS: Final = frozenset({Kind.AVRO_SERIALIZER, Kind.JSON_SERIALIZER})
_AVRO_SERIALIZER: Final = frozenset({Kind.AVRO_SERIALIZER})
_DESERIALIZERS: Final = frozenset({Kind.AVRO_DESERIALIZER, Kind.JSON_DESERIALIZER})
_JSON: Final = frozenset({Kind.JSON_SERIALIZER, Kind.JSON_DESERIALIZER})
_ALL: Final = frozenset(Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A configuration that is checked. What a serde has no key for has its default."""

    auto_register: bool
    """`auto.register.schemas`."""
    normalize: bool
    """`normalize.schemas`."""
    schema_id: int | None
    """`use.schema.id`."""
    latest: bool
    """`use.latest.version`."""
    metadata: Mapping[str, str] | None
    """`use.latest.with.metadata`."""
    strategy: object
    """`subject.name.strategy`; None for none."""
    strategy_type: object
    """`subject.name.strategy.type`; None for none."""
    strategy_conf: object
    """`subject.name.strategy.conf`; None for none."""
    id_serializer: object
    """`schema.id.serializer`; None for the default."""
    id_deserializer: object
    """`schema.id.deserializer`; None for the default."""
    validate: bool
    """`validate`."""
    strict: bool
    """`validate.strict`."""
    strict_allow_default: bool
    """`validate.strict.allow.default`."""


def settings(kind: Kind, conf: Conf) -> Settings:
    """The settings of a serde.

    :raises UsageError: if the dictionary is none, has a key that the serde does not know or a value of the wrong type,
        asks for what is not supported, or contradicts itself.
    """
    given = _dictionary(kind, conf)
    values: dict[str, object] = {name: key.default for name, key in _KEYS.items()}
    for name, value in given.items():
        key = _KEYS.get(name)
        if key is None or kind not in key.of:
            raise UsageError(_unknown(kind, name))
        key.check(name, value)
        values[name] = value
    if kind in _SERIALIZERS and values["use.latest.version"] and values["auto.register.schemas"]:
        raise UsageError(
            "use.latest.version and auto.register.schemas (on unless it is False) exclude each other: set "
            "auto.register.schemas to False to write under the latest version."
        )
    return Settings(
        auto_register=cast("bool", values["auto.register.schemas"]),
        normalize=cast("bool", values["normalize.schemas"]),
        schema_id=cast("int | None", values["use.schema.id"]),
        latest=cast("bool", values["use.latest.version"]),
        metadata=cast("Mapping[str, str] | None", values["use.latest.with.metadata"]),
        strategy=values["subject.name.strategy"],
        strategy_type=values["subject.name.strategy.type"],
        strategy_conf=values["subject.name.strategy.conf"],
        id_serializer=values["schema.id.serializer"],
        id_deserializer=values["schema.id.deserializer"],
        validate=cast("bool", values["validate"]),
        strict=cast("bool", values["validate.strict"]),
        strict_allow_default=cast("bool", values["validate.strict.allow.default"]),
    )


def check_no_rules(rule_conf: object, rule_registry: object) -> None:
    """:raises UsageError: unless both are empty: rules are not executed here."""
    if rule_conf:
        raise UsageError(f"rule_conf is given, but {_NO_RULES}")
    if rule_registry is not None and any(
        list(cast("Callable[[], list[object]]", getattr(rule_registry, name, list))())
        for name in ("get_executors", "get_actions")
    ):
        raise UsageError(f"rule_registry has executors or actions, but {_NO_RULES}")


def check_callable(what: str, value: object, signature: str) -> None:
    """:raises UsageError: unless the value is None or can be called."""
    if value is not None and not callable(value):
        raise UsageError(f"{what} is {_described(value)}; it must be a callable {signature}, or None.")


def _dictionary(kind: Kind, conf: Conf) -> Mapping[str, object]:
    if conf is None:
        return {}
    if not isinstance(conf, Mapping):
        raise UsageError(f"The configuration of {kind.value} is {_described(conf)}; it must be a dict, or None.")
    return conf


def _unknown(kind: Kind, name: object) -> str:
    known = [known for known, key in _KEYS.items() if kind in key.of]
    others = sorted(other.value for other in (_KEYS[name].of if isinstance(name, str) and name in _KEYS else ()))
    owner = f" It is a key of {' and '.join(others)}." if others else ""
    near = difflib.get_close_matches(name, known, n=1) if isinstance(name, str) else []
    advice = f"Do you mean {near[0]!r}?" if near and not owner else f"Its keys are {', '.join(sorted(known))}."
    return f"{kind.value} has no configuration key {name!r}.{owner} {advice}"


def _described(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"


def _boolean(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise UsageError(f"{name} is {_described(value)}; it must be True or False.")


def _schema_id(name: str, value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise UsageError(f"{name} is {_described(value)}; it must be a schema id (an int), or None.")
    if not MIN_SCHEMA_ID <= value <= MAX_SCHEMA_ID:
        raise UsageError(f"{name} is {value}; registries give the ids {MIN_SCHEMA_ID} … {MAX_SCHEMA_ID}.")


def _properties(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise UsageError(f"{name} is {_described(value)}; it must be a dict of metadata properties, or None.")
    if not all(isinstance(part, str) for item in value.items() for part in item):
        raise UsageError(f"{name} must be a dict of texts to texts: the metadata properties to look for.")


def _anything(name: str, value: object) -> None:
    """Strategies and framings have modules of their own, which check them."""


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
    "no rules are executed here (no data contracts, no CSFLE, no inline validation rules): leave it out, or use "
    "confluent_kafka's own serde for this topic."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Key:
    of: frozenset[Kind]
    default: object
    check: Callable[[str, object], None]


_KEYS: Final[Mapping[str, _Key]] = {
    "auto.register.schemas": _Key(of=_SERIALIZERS, default=True, check=_boolean),
    "normalize.schemas": _Key(of=_SERIALIZERS, default=False, check=_boolean),
    "use.schema.id": _Key(of=_SERIALIZERS, default=None, check=_schema_id),
    "use.latest.version": _Key(of=_ALL, default=False, check=_boolean),
    "use.latest.with.metadata": _Key(of=_ALL, default=None, check=_properties),
    "subject.name.strategy": _Key(of=_ALL, default=None, check=_anything),
    "subject.name.strategy.type": _Key(of=_ALL, default=None, check=_anything),
    "subject.name.strategy.conf": _Key(of=_ALL, default=None, check=_anything),
    "schema.id.serializer": _Key(of=_SERIALIZERS, default=None, check=_anything),
    "schema.id.deserializer": _Key(of=_DESERIALIZERS, default=None, check=_anything),
    "validate": _Key(of=_JSON, default=True, check=_boolean),
    "validate.strict": _Key(of=_AVRO_SERIALIZER, default=False, check=_boolean),
    "validate.strict.allow.default": _Key(of=_AVRO_SERIALIZER, default=False, check=_boolean),
    "validation.rules.execution": _Key(of=_SERIALIZERS, default="DISABLED", check=_rules_disabled),
    "validation.rules.fail.fast": _Key(of=_SERIALIZERS, default=False, check=_boolean),
    "validation.rules.executor": _Key(of=_SERIALIZERS, default=None, check=_no_executor),
}
