"""Deserializers of both engines, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest import mock

from srfix.serde import BadRow, Deserializer, SerdeContext, SrfixError, deserialize_many
from srfix.serde.arrow import RowWise, to_arrow
from srfix.serde.native import kernel
from tests.serde.fuzz.same import same

_USERS = ("srfix.serde.formats.avro.read.kernel.kernel", "srfix.serde.formats.json.kernel.kernel")


@contextmanager
def python_engine() -> Iterator[None]:
    """Plans that are made within are Python's, as if there were no kernel."""
    before = [mock.patch(user, return_value=None) for user in _USERS]
    for patch in before:
        patch.start()
    try:
        yield
    finally:
        for patch in before:
            patch.stop()


def must_agree(native: Deserializer, python: Deserializer, payloads: Sequence[bytes | None], *, about: str) -> None:
    """Reads payloads by both engines: one at a time, many, and into Arrow where the deserializers have columns.

    :raises AssertionError: if rows differ, or what is said of bad ones does.
    """
    assert kernel() is not None
    ctx = SerdeContext("t")
    for payload in payloads:
        one = _outcome(native, payload, ctx)
        with python_engine():
            other = _outcome(python, payload, ctx)
        assert same(one, other), f"{one!r} is not {other!r}: {payload!r} of {about}"
    many = [_told(row) for row in deserialize_many(list(payloads), ctx, native, on_error="quarantine")]
    with python_engine():
        others = [_told(row) for row in deserialize_many(list(payloads), ctx, python, on_error="quarantine")]
    assert same(many, others), f"many of {about}"
    batch = to_arrow(list(payloads), ctx, native, on_error="quarantine")
    batch.validate(full=True)
    with python_engine():
        expected = to_arrow(list(payloads), ctx, python, on_error="quarantine", engine=RowWise)
    assert batch.schema.equals(expected.schema)
    for payload, row, wanted in zip(payloads, batch.to_pylist(), expected.to_pylist(), strict=True):
        assert repr(row) == repr(wanted), f"{row!r} is not {wanted!r}: {payload!r} of {about}"


def _outcome(deserialize: Deserializer, payload: bytes | None, ctx: SerdeContext) -> object:
    try:
        return deserialize(payload, ctx)
    except SrfixError as error:
        return _of_error(error)


def _told(row: object) -> object:
    return [row.position, row.reason, _of_error(row.error)] if isinstance(row, BadRow) else row


def _of_error(error: SrfixError) -> list[object]:
    return [type(error).__name__, str(error), sorted(vars(error).items())]
