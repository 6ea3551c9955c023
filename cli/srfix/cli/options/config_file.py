"""The `--config` file: TOML, weaker than flags and environment, stronger than the defaults.

`SHARED_KEYS` stand above all tables. [kafka] is as -X, [registry-client] as -R, [source] as --source STORE=TOPIC; the table
of a command has its options, as on the command line. srfix checks the keys of every table.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeVar

import click

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.hints import nearest
from srfix.serde.property_names import shown

JOINED: Final = frozenset({"bootstrap-servers", "registry"})
"""Keys of options that take several values in one text, separated by commas. In the file, a list is also allowed."""
_NOT_THERE: Final = frozenset({"config", "help"})


class ValueKind(Enum):
    """The type of a value, in the words of the error message."""

    TEXT = 'text, in quotes: "…"'
    TEXTS = 'text, in quotes: "…", or a list of such texts'
    SWITCH = "true or false, without quotes"
    INTEGER = "a whole number, without quotes"
    NUMBER = "a number, without quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKey:
    """An option, as a key of the file."""

    parameter: str
    kind: ValueKind = ValueKind.TEXT
    is_multiple: bool = False
    """True if the option may be repeated. Otherwise a list of `TEXTS` is joined with commas."""


def option_value(path: str, name: str, value: object, key: TableKey) -> object:
    """As click's `default_map` takes it. `name` is the key after its table's name, in a form that may be shown."""
    match key.kind, value:
        case (ValueKind.TEXT, str()) | (ValueKind.SWITCH, bool()):
            return value
        case ValueKind.TEXTS, str():
            return [value] if key.is_multiple else value
        case ValueKind.TEXTS, list() if all(isinstance(item, str) for item in value):
            return value if key.is_multiple else ",".join(value)
        case (ValueKind.INTEGER, int()) | (ValueKind.NUMBER, int() | float()) if not isinstance(value, bool):
            return value
    raise UsageError(f"{name!r} in the configuration file {path!r} must be {key.kind.value}.")


def property_value(path: str, name: str, value: object) -> str:
    """The text of a client property: numbers and true/false may stand without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    hint = " In this file, a name with dots needs quotes." if isinstance(value, dict) else ""
    raise UsageError(f"{name!r} in the configuration file {path!r} must be text, a number or true/false.{hint}")


def table_keys(command: click.Command) -> dict[str, TableKey]:
    """The keys of a command's table: long options without the dashes, and also click's names that differ from them."""
    keys: dict[str, TableKey] = {}
    for param in command.params:
        if isinstance(param, click.Option) and param.name is not None and param.name not in _NOT_THERE:
            key = TableKey(parameter=param.name, kind=_kind(param), is_multiple=param.multiple)
            keys |= {opt.removeprefix("--"): key for opt in param.opts if opt.startswith("--")}
            keys.setdefault(param.name.replace("_", "-"), key)
    return keys


def _kind(option: click.Option) -> ValueKind:
    if option.is_flag:
        return ValueKind.SWITCH
    if option.multiple or any(opt.removeprefix("--") in JOINED for opt in option.opts):
        return ValueKind.TEXTS
    if isinstance(option.type, click.types.IntParamType):
        return ValueKind.INTEGER
    return ValueKind.NUMBER if isinstance(option.type, click.types.FloatParamType) else ValueKind.TEXT


_NUMBERS: Final = {"deadline": ValueKind.NUMBER, "max-records": ValueKind.INTEGER, "processes": ValueKind.INTEGER}
_REPEATABLE: Final = ("ignore", "ksqldb", "ksqldb-config", "ksqldb-text", "spark-conf", "state-dir", "topology")
_OF_STORES: Final = ("application", "reader", "store", "streams-version")
_OF_CONNECTIONS: Final = ("bootstrap-servers", "kafka-config", "ksqldb-user", "registry")
SHARED_KEYS: Final = tuple(
    sorted((*_OF_STORES, *_OF_CONNECTIONS, *_NUMBERS, *_REPEATABLE, "engine", "master", "output"))
)
_QUOTED: Final = re.compile(r"(?<=character )'.*'|\"[^\"]*\"", re.DOTALL)
_TABLES: Final = ("kafka", "registry-client", "source")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    options: Mapping[str, object] = field(default_factory=dict, repr=False)
    """Values by click's parameter names: a `default_map`."""
    kafka: Mapping[str, str] = field(default_factory=dict, repr=False)
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)


def read_config(
    path: str, *, command: str, commands: Collection[str], keys_of: Callable[[str], Mapping[str, TableKey]]
) -> ConfigFile:
    """Reads the file for one command. Of the tables of other commands in the file it checks only the keys."""
    from srfix.serde.properties.kafka_client import together

    try:
        text = read_file(path, most_bytes=bounds.MOST_SETTINGS_BYTES).decode("utf-8")
        document = _parsed(text)
    except OSError as error:
        raise UsageError(f"The configuration file {path!r} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        # The error is not chained as the cause, because it may carry the whole document.
        where = _place(error) if isinstance(error, tomllib.TOMLDecodeError) else str(error)
        if isinstance(error, UnicodeDecodeError):
            where = "it is not UTF-8 text"
        raise UsageError(f"The configuration file {path!r} is not TOML: {where}.") from None
    reading = _Reading(path=path, text=text, document=document, commands=commands, keys_of=keys_of)
    options = reading.shared()
    kafka, registry = reading.properties("kafka"), reading.properties("registry-client")
    if sources := reading.sources():
        options["source"] = sources
    for name in commands:
        if name in document:
            of_command = reading.of_command(name)
            if name == command:
                options |= of_command
    if reading.wrong:
        raise UsageError(together(f"The configuration file {path!r}", reading.wrong))
    return ConfigFile(options=options, kafka=kafka, registry=registry)


def _parsed(text: str) -> dict[str, object]:
    if any(piece.count(".") > bounds.MOST_KEY_PARTS for line in text.splitlines() for piece in line.split("=")):
        raise ValueError(f"a line has more than {bounds.MOST_KEY_PARTS} dots in one key or value")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def shared_key(key: str) -> TableKey:
    """The type that one of `SHARED_KEYS` takes, which is that of the option in each command."""
    is_multiple = key in _REPEATABLE
    kind = ValueKind.TEXTS if is_multiple or key in JOINED else _NUMBERS.get(key, ValueKind.TEXT)
    return TableKey(parameter=key.replace("-", "_"), kind=kind, is_multiple=is_multiple)


_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """Reads the parts of a file, and notes what is wrong with each."""

    path: str
    text: str
    document: Mapping[str, object]
    commands: Collection[str]
    keys_of: Callable[[str], Mapping[str, TableKey]]
    wrong: list[str] = field(default_factory=list)

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """Keeps an error of the block, so that srfix also checks the rest of the file."""
        try:
            yield
        except UsageError as error:
            self.wrong.append(error.message)

    def _each(self, key: str, read: Callable[[str, object], tuple[str, _Value]]) -> dict[str, _Value]:
        """What the entries of a table are read as, if there is such a table."""
        table = self.document.get(key, {})
        read_as: dict[str, _Value] = {}
        if not isinstance(table, dict):
            self.wrong.append(f"{key!r} in the configuration file {self.path!r} must be a table: [{key}].")
            return read_as
        for name, value in table.items():
            with self._noted():
                parameter, entry = read(name, value)
                read_as[parameter] = entry
        return read_as

    def shared(self) -> dict[str, object]:
        options: dict[str, object] = {}
        keys = (*SHARED_KEYS, *_TABLES, *self.commands)
        for key, value in self.document.items():
            with self._noted():
                if key in SHARED_KEYS:
                    shared = shared_key(key)
                    options[shared.parameter] = option_value(self.path, key, value, shared)
                elif key not in keys:
                    raise UsageError(
                        f"srfix does not read {self._shown(key, keys)} of the configuration file {self.path!r}. "
                        f"{self._home_or_known(key, keys)}"
                    )
        return options

    def properties(self, key: str) -> dict[str, str]:
        return self._each(key, lambda name, value: (name, property_value(self.path, f"{key}.{shown(name)}", value)))

    def sources(self) -> list[str]:
        topic = TableKey(parameter="source")
        topics = self._each(
            "source", lambda store, value: (store, option_value(self.path, f"source.{store}", value, topic))
        )
        return [f"{store}={name}" for store, name in topics.items()]

    def of_command(self, command: str) -> dict[str, object]:
        keys = self.keys_of(command)

        def option(key: str, value: object) -> tuple[str, object]:
            if key not in keys:
                raise UsageError(
                    f"srfix {command} has no option for {self._shown(key, keys)} of the table [{command}] of the "
                    f"configuration file {self.path!r}. {self._home_or_known(key, keys)}"
                )
            return keys[key].parameter, option_value(self.path, f"{command}.{key}", value, keys[key])

        return self._each(command, option)

    def _home_or_known(self, key: str, keys: Collection[str]) -> str:
        """The place where a misplaced or misspelled key belongs; otherwise the known keys of this place."""
        near = self._near(key, keys)
        meant = key if near is None or near in keys else near
        if meant in SHARED_KEYS:
            return f"{meant} belongs above all tables."
        tables = [f"[{name}]" for name in self.commands if meant in self.keys_of(name)]
        if tables:
            return f"{meant} belongs in the table of a command that has it: {', '.join(tables)}."
        return f"The known keys are: {', '.join(keys)}."

    def _near(self, key: str, keys: Collection[str]) -> str | None:
        """A similar key of this place, otherwise of another place. None if the key itself is known elsewhere."""
        everywhere = dict.fromkeys((*SHARED_KEYS, *(other for name in self.commands for other in self.keys_of(name))))
        if key in everywhere:
            return None
        key = key[:100]
        return nearest(key, tuple(keys), cutoff=0.75) or nearest(key, tuple(everywhere), cutoff=0.75)

    def _shown(self, key: str, keys: Collection[str]) -> str:
        """Describes a key that may be a secret (`SECRET = "…"`) by its line and by a similar key."""
        near = self._near(key, keys)
        lines = (number for number, line in enumerate(self.text.splitlines(), start=1) if key in line)
        where = next((f" in line {number}" for number in lines), "")
        return f"the key{where} (did you mean {near}?)" if near else f"the key{where}"


def _place(error: tomllib.TOMLDecodeError) -> str:
    """The parser's message without its quotations, which may be a character of a secret."""
    words, at, place = str(error).rpartition(" (at ")
    return f"{re.sub(_QUOTED, '…', words)}{at}{place}"
