"""Arrow arrays → Python values in the form that serializers take: exactly, or not at all."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from srfix.serde.arrow.types import LISTS, TESTS, is_any, pyarrow, pyarrow_compute
from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.coercions import DAY_MS, EPOCH, EPOCH_DAY
from srfix.serde.errors import ColumnError
from srfix.serde.formats.rows.value_check import Misfit
from srfix.serde.printable import path_words

if TYPE_CHECKING:
    import pyarrow as pa

Read: TypeAlias = "Callable[[pa.Array], list[object]]"
"""Null is None. Raises a `Misfit` with the paths of all entries that cannot be a value."""
TimeUnit: TypeAlias = Literal["ms", "us"]
"""The finest unit of times: milliseconds or microseconds."""

_NANOSECONDS: Final = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_UNITS: Final = {"ms": "milliseconds", "us": "microseconds"}
_TIMES: Final = (ScalarType.DATE, ScalarType.TIME)
_PLAIN: Final = ("is_uint64", "is_null", *chain(*(tests for kind, tests in TESTS.items() if kind not in _TIMES)))
"""What `to_pylist` converts, by names in `pyarrow.types`; older versions of pyarrow lack the newest ones."""


def struct_reader(fields: Sequence[pa.Field], path: str, unit: TimeUnit) -> Read:
    names = [field.name for field in fields]
    if len(set(names)) < len(names):
        raise ColumnError(
            f"Two fields of {path_words(path, 'the batch')} have the same name: {', '.join(map(repr, names))}."
        )
    reads = [_reader(field.type, f"{path}->{field.name}", unit) for field in fields]

    def read(array: pa.Array) -> list[object]:
        columns: list[list[object]] = []
        findings: list[tuple[str, str]] = []
        for read_field, child in zip(reads, array.flatten(), strict=True):
            try:
                columns.append(read_field(child))
            except Misfit as misfit:
                findings += misfit.findings
        if findings:
            raise Misfit(findings)
        rows: list[object] = (
            [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]
            if columns
            else [{} for _ in range(len(array))]
        )
        if not array.null_count:
            return rows
        return [row if is_there else None for row, is_there in zip(rows, array.is_valid().to_pylist(), strict=True)]

    return read


def _reader(type_: pa.DataType, path: str, unit: TimeUnit) -> Read:
    types = pyarrow().types
    if is_any(type_, _PLAIN):
        return _plain_reader(path)
    if types.is_struct(type_):
        return struct_reader(list(type_), path, unit)
    if types.is_map(type_):
        return _map_reader(type_, path, unit)
    if is_any(type_, LISTS):
        items = f"{path}->ARRAY"
        is_plain = is_any(type_.value_type, _PLAIN)
        return _plain_reader(items) if is_plain else _list_reader(_reader(type_.value_type, items, unit))
    return _encoded_reader(type_, path, unit) or _scalar_reader(type_, path, unit)


def _plain_reader(path: str) -> Read:
    def read(array: pa.Array) -> list[object]:
        try:
            values: list[object] = array.to_pylist()
        except UnicodeDecodeError as error:
            raise Misfit([(path, f"holds text that is not UTF-8 ({error.reason} at byte {error.start})")]) from error
        return values

    return read


def _encoded_reader(type_: pa.DataType, path: str, unit: TimeUnit) -> Read | None:
    pa, compute = pyarrow(), pyarrow_compute()
    if pa.types.is_dictionary(type_):
        read = _reader(type_.value_type, path, unit)
        return lambda array: read(array.dictionary_decode())
    if pa.types.is_run_end_encoded(type_):
        read = _reader(type_.value_type, path, unit)
        return lambda array: read(compute.run_end_decode(array))
    if isinstance(type_, pa.BaseExtensionType):
        read = _reader(type_.storage_type, path, unit)
        return lambda array: read(array.storage)
    return None


def _scalar_reader(type_: pa.DataType, path: str, unit: TimeUnit) -> Read:
    types = pyarrow().types
    if types.is_decimal(type_):
        return _decimals
    if types.is_date32(type_):
        return _each_number(_date, path)
    if types.is_date64(type_):
        return _each_number(_date_of_ms, path)
    if types.is_time(type_):
        return _each_number(_in_unit(type_.unit, unit, _time), path)
    if types.is_timestamp(type_):
        # The serializer accepts a time of a clock without a zone only for local times.
        epoch = EPOCH if type_.tz is not None else EPOCH.replace(tzinfo=None)
        return _each_number(_in_unit(type_.unit, unit, lambda us: epoch + datetime.timedelta(microseconds=us)), path)
    raise ColumnError(
        f"The Arrow type {type_}, at {path_words(path)}, cannot be written. Cast it to a type that a column has, or leave it "
        "out."
    )


def _decimals(array: pa.Array) -> list[object]:
    # Conversion through text is faster, and keeps the scale.
    texts = array.cast(pyarrow().string()).to_pylist()
    return [None if text is None else decimal.Decimal(text) for text in texts]


def _each_number(convert: Callable[[int], object], path: str) -> Read:
    def read(array: pa.Array) -> list[object]:
        pa = pyarrow()
        numbers = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64()).to_pylist()
        try:
            return [None if number is None else convert(number) for number in numbers]
        except (OverflowError, ValueError) as error:
            raise Misfit([(path, f"has a {array.type} value that Python cannot hold exactly ({error})")]) from error

    return read


def _date(days: int) -> datetime.date:
    return datetime.date.fromordinal(days + EPOCH_DAY)


def _date_of_ms(milliseconds: int) -> datetime.date:
    days, rest = divmod(milliseconds, DAY_MS)
    if rest:
        raise ValueError(f"{milliseconds} ms is not a whole day")
    return _date(days)


def _in_unit(have: str, want: TimeUnit, convert: Callable[[int], object]) -> Callable[[int], object]:
    """`convert` takes microseconds; numbers that are finer than the wanted unit are refused."""
    nanoseconds, finest = _NANOSECONDS[have], _NANOSECONDS[want]

    def scaled(number: int) -> object:
        if number * nanoseconds % finest:
            raise ValueError(f"{number} {have} is not a whole number of {_UNITS[want]}")
        return convert(number * nanoseconds // 1000)

    return scaled


def _time(microseconds: int) -> datetime.time:
    if not 0 <= microseconds < DAY_MS * 1000:
        raise ValueError(f"{microseconds} us is not a time of day")
    return (EPOCH + datetime.timedelta(microseconds=microseconds)).time()


def _list_reader(read_items: Read) -> Read:
    def read(array: pa.Array) -> list[object]:
        items = iter(read_items(array.flatten()))
        lengths = pyarrow_compute().list_value_length(array).to_pylist()
        return [None if length is None else list(islice(items, length)) for length in lengths]

    return read


def _map_reader(type_: pa.DataType, path: str, unit: TimeUnit) -> Read:
    arrow = pyarrow()
    read_keys = _reader(type_.key_type, f"{path}->MAP_KEY", unit)
    read_values = _reader(type_.item_type, f"{path}->MAP_VAL", unit)
    # A map array does not handle slices and nulls itself; viewed as a list, it does.
    pairs = arrow.list_(arrow.struct([arrow.field("key", type_.key_type), arrow.field("value", type_.item_type)]))

    def read(array: pa.Array) -> list[object]:
        entries = array.cast(pairs)
        keys, values = entries.flatten().flatten()
        left = zip(read_keys(keys), read_values(values), strict=True)
        maps: list[object] = []
        for length in pyarrow_compute().list_value_length(entries).to_pylist():
            entry = dict(islice(left, length or 0))
            if len(entry) < (length or 0):
                raise Misfit([(path, "has two entries with the same key, but a map can hold only one")])
            maps.append(None if length is None else entry)
        return maps

    return read
