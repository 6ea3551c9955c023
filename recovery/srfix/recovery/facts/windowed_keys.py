"""Windowed keys in a source topic: is there a window behind each key, and which kind?

Nothing in the bytes says so: a windowed table's keys are the framed key and then 8 bytes (`TimeWindowedSerializer`), 16
(`SessionWindowedSerializer`) or 12 (`WindowKeySchema`, in a store's changelog or a join's). A reader of the schema alone
meets them as bytes left over. The topic as a whole tells: most of its keys decode without the same suffix, and the times in
it can be those of windows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from srfix.recovery.facts.decoding import Deserializer
from srfix.serde.errors import DecodeError
from srfix.serde.interface import Context, Value
from srfix.serde.windowed import WindowKind, split

if TYPE_CHECKING:
    from srfix.serde.resolve.policies import Resolver


_LATEST_MS: Final = 4_102_444_800_000
"""2100-01-01, UTC. No window begins or ends later; text or an Avro body read as a time nearly always does."""


def key_without_window(payload: bytes, kind: WindowKind) -> bytes | None:
    """The key's own bytes; None if what stands behind it is no plausible window of the kind."""
    try:
        key, window = split(payload, kind)
    except DecodeError:
        return None
    return key if max(window.start_ms, window.end_ms or 0) < _LATEST_MS else None


def window_of(keys: Iterable[bytes], reads: Callable[[bytes], bool]) -> WindowKind | None:
    """The kind of window that stands behind a sample of a topic's keys; None if they are not windowed. Bytes that it `reads`
    are a whole key: they decode with the schema that they name, and nothing is left.
    """
    counts: Counter[WindowKind | None] = Counter()
    for payload in keys:
        if reads(payload):
            counts[None] += 1
            continue
        for kind in WindowKind:
            key = key_without_window(payload, kind)
            if key is not None and reads(key):
                counts[kind] += 1
                break
    if not counts:
        return None
    likeliest, count = counts.most_common(1)[0]
    return likeliest if 2 * count > counts.total() else None


def key_deserializer(resolver: Resolver, window: WindowKind | None) -> Deserializer:
    from srfix.serde.deserializer import SchemaDeserializer

    deserialize = SchemaDeserializer(resolver)
    return deserialize if window is None else _Windowed(deserialize, window)


class _Windowed:
    """The key alone: a `Deserializer`'s rows have no room for a window."""

    def __init__(self, deserialize: Deserializer, window: WindowKind) -> None:
        from srfix.serde.deserializer import WindowedDeserializer

        self._deserialize = WindowedDeserializer(deserialize, window)

    def __call__(self, payload: bytes | None, context: Context) -> Value:
        key = self._deserialize(payload, context)
        return None if key is None else key.key
