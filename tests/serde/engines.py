"""Deserializers of both engines, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from srfix.serde import Deserializer, SerdeContext, deserialize_many
from srfix.serde.arrow import RowWise, to_arrow
from srfix.serde.native import kernel
from tests.serde.fuzz.engines import are_same, outcome, python_engine, told_apart

__all__ = ["must_agree", "python_engine"]


def must_agree(native: Deserializer, python: Deserializer, payloads: Sequence[bytes | None], *, about: str) -> None:
    """Reads payloads by both engines: one at a time, many, and into Arrow where the deserializers have columns.

    :raises AssertionError: if rows differ, or what is said of bad ones does.
    """
    assert kernel() is not None
    ctx = SerdeContext("t")
    for payload in payloads:
        one = outcome(lambda payload=payload: native(payload, ctx))  # type: ignore[misc]
        with python_engine():
            other = outcome(lambda payload=payload: python(payload, ctx))  # type: ignore[misc]
        assert are_same(one, other), f"{one!r} is not {other!r}: {payload!r} of {about}"
    many = list(deserialize_many(list(payloads), ctx, native, on_error="quarantine"))
    with python_engine():
        others = list(deserialize_many(list(payloads), ctx, python, on_error="quarantine"))
    assert are_same(many, others), f"many of {about}: {told_apart(many, others)}"
    batch = to_arrow(list(payloads), ctx, native, on_error="quarantine")
    batch.validate(full=True)
    with python_engine():
        expected = to_arrow(list(payloads), ctx, python, on_error="quarantine", engine=RowWise)
    assert batch.schema.equals(expected.schema)
    for payload, row, wanted in zip(payloads, batch.to_pylist(), expected.to_pylist(), strict=True):
        assert repr(row) == repr(wanted), f"{row!r} is not {wanted!r}: {payload!r} of {about}"
