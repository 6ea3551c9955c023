"""Arrow arrays from elsewhere, whose offsets may lead beyond their buffers: nothing of such a one is read."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from srfix.serde.arguments import type_words
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


def usable_payloads(payloads: object) -> Any:
    """A list, a tuple or a sound Arrow array of bytes as it is; an iterator over whatever else holds payloads."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(payloads, arrow.Array | arrow.ChunkedArray):
        return of_binary(payloads)
    if isinstance(payloads, list | tuple):
        return payloads
    if isinstance(payloads, Iterable) and not isinstance(payloads, str | bytes | bytearray | memoryview):
        return iter(payloads)
    raise UsageError(
        f"The payloads are {type_words(payloads)}; they must be many: a list, an iterator or an Arrow array of bytes."
    )


def of_binary(payloads: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """The array, sound, as one of a binary type."""
    import pyarrow as pa

    for chunk in payloads.chunks if isinstance(payloads, pa.ChunkedArray) else [payloads]:
        refuse_malformed(chunk, "The payloads")
    types, type_ = pa.types, payloads.type
    if types.is_dictionary(type_):
        return of_binary(payloads.cast(type_.value_type))
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return payloads
    if types.is_null(type_) or types.is_binary_view(type_):
        return payloads.cast(pa.binary())
    raise UsageError(f"Payloads are bytes; these are of the Arrow type {type_}. Pass the binary column.")


def refuse_malformed(array: pa.Array, what: str) -> None:
    """An IPC stream is taken as it comes: whoever made it may have written offsets that lead into other memory. Text that is
    not UTF-8 is a row's matter.
    """
    import pyarrow as pa

    try:
        _check(array)
    except (pa.ArrowInvalid, IndexError) as error:
        raise UsageError(
            f"{what} come as an Arrow array that is malformed ({error}): nothing of it was read. Have the library that "
            "made it write it anew."
        ) from None


def _check(array: pa.Array) -> None:
    import pyarrow as pa

    types, type_ = pa.types, array.type
    array.validate()
    if types.is_struct(type_):
        for number in range(type_.num_fields):
            _check(array.field(number))
    elif types.is_map(type_):
        _check_offsets(array.offsets, len(array.keys))
        _check(array.keys)
        _check(array.items)
    elif types.is_list(type_) or types.is_large_list(type_):
        _check_offsets(array.offsets, len(array.values))
        _check(array.values)
    elif types.is_fixed_size_list(type_):
        _check(array.values)
    elif types.is_dictionary(type_):
        pa.DictionaryArray.from_arrays(array.indices, pa.nulls(len(array.dictionary))).validate(full=True)
        _check(array.dictionary)
    elif isinstance(type_, pa.BaseExtensionType):
        _check(array.storage)
    elif types.is_primitive(type_) or types.is_decimal(type_) or types.is_fixed_size_binary(type_):
        pass  # it has no offsets; whether a time is one is a row's matter too
    elif types.is_string(type_):
        array.view(pa.binary()).validate(full=True)
    elif types.is_large_string(type_):
        array.view(pa.large_binary()).validate(full=True)
    else:
        array.validate(full=True)


def _check_offsets(offsets: pa.Array, values: int) -> None:
    import pyarrow as pa

    made = pa.LargeListArray if pa.types.is_int64(offsets.type) else pa.ListArray
    made.from_arrays(offsets, pa.nulls(values)).validate(full=True)
