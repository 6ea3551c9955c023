"""Every bound that keeps what somebody else wrote from hurting whoever reads it: in this module, and nowhere else.

A bound here has a name, a default, what it protects from, and how to change it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["PayloadBounds", "bound_payloads", "payload_bounds", "remember"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


# Payloads ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PayloadBounds:
    """What reading one payload may take, in all formats and engines but Spark's own (jvm), which knows no such bounds.

    Change them with `bound_payloads` before deserializers are made; on a Spark cluster the driver's are shipped with a
    read plan. What goes beyond one is a `PayloadBoundError`: one bad row, with the reason BEYOND_BOUNDS.

    A budget counts values: a scalar or null is 1; an array, map, record or row is 4 and its parts; a name or text that
    comes from a schema, not from the payload, is 1 more for every 32 characters. A value takes 20 to 50 bytes of memory,
    so that a payload of 1 MB takes 400 MB at the very most, and an ordinary one a tenth of that.
    """

    values: int = 65_536
    """How many values any payload may make, however short. Protects from items that take no bytes, and from short
    payloads for wide columns."""
    values_per_byte: int = 8
    """How many more for each byte of the payload. Protects from arrays whose items make many values of few bytes: wide
    STRUCTs, defaults, records in records."""
    empty_items: int = 65_536
    """How many array items without any bytes one Avro payload may claim altogether. Protects from counts that nothing
    stands behind."""
    levels: int = 1_000
    """How deep the values of one Avro payload may nest. Protects the C stack, which fastavro does not check: 10,000
    levels end the process. JSON ends at about 1,000 by itself. Do not raise it beyond 2,000."""
    shown_levels: int = 300
    """How deep a row may nest that is shown as JSON (`srfix decode`). Protects Python's stack: rows of 900 levels can be
    read, and nothing writes them. At most 400."""
    schema_parts: int = 100_000
    """How many types a reader visits for one record of an Avro schema, arrays and maps taken as empty. Protects from records
    that hold the next one twice, and so on: the schema is refused."""
    decimal_bytes: int = 4_096
    """How many bytes the unscaled number of one Avro or Connect decimal may have (9,864 digits). Protects from the
    conversion to decimal digits, which is quadratic: 900 kB take more than a minute, in which nothing else runs."""
    number_characters: int = 4_300
    """How many characters a number of JSON may have where its digits count. Whole numbers have this limit from msgspec and
    Python. Protects from quadratic conversions."""
    text_number_characters: int = 1_000
    """How many characters a text may have that a number is made of: what Jackson reads since 2.15. Protects likewise."""
    batch_bytes: int = 4 << 20
    """How many bytes of payloads are held as rows together where a batch is read: up to 1,000 payloads, and one at least.
    Protects from a thousand payloads that each take what they may."""
    shapes: int = 4_096
    """How many sets of JSON keys a deserializer of columns remembers, to match each with the columns only once. The oldest
    are forgotten first. Protects from payloads that all have other keys."""
    shape_bytes: int = 16 << 20
    """How many bytes the remembered sets may take; one of more than a 4,096th of it (4 KiB, about 60 keys) is matched
    anew for each row."""
    plans: int = 1_000
    """How many schemas a deserializer remembers how to read. Protects from a registry that knows every id. The oldest are
    forgotten first."""
    refusals: int = 10_000
    """How many refused schema ids and GUIDs a batch, or a reader of a topic, remembers, so as not to ask again. The oldest
    are forgotten first."""

    @classmethod
    def lifted(cls) -> PayloadBounds:
        """None of those that decoders look at: nothing is looked at then. For measuring, and for data that is trusted."""
        none = sys.maxsize
        return cls(
            values=none,
            values_per_byte=0,
            decimal_bytes=none,
            number_characters=none,
            text_number_characters=none,
        )

    def budget(self, size: int) -> int:
        """How many values a payload of so many bytes may make."""
        return self.values + self.values_per_byte * size


_payload_bounds = PayloadBounds()


def payload_bounds() -> PayloadBounds:
    """The bounds that deserializers are made with."""
    return _payload_bounds


def bound_payloads(bounds: PayloadBounds) -> PayloadBounds:
    """Sets the bounds that this process makes deserializers with from now on; gives those before.

    >>> before = bound_payloads(PayloadBounds(values_per_byte=100))
    >>> payload_bounds().budget(10)
    66536
    >>> _ = bound_payloads(before)
    """
    global _payload_bounds
    before, _payload_bounds = _payload_bounds, bounds
    return before


def remember(known: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Puts an entry where others read without a lock; `known` has at most `most` then."""
    while len(known) >= most and key not in known:
        try:
            known.pop(next(iter(known)), None)
        except (RuntimeError, StopIteration):
            continue  # another thread was here: look again
    known[key] = value
