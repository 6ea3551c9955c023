"""Errors that say which payload they are about."""

from __future__ import annotations

from typing import Final, TypeVar
from uuid import UUID

from srfix.serde.errors import ColumnError, SrfixError
from srfix.serde.interface import ABOUT_A_PAYLOAD, ABOUT_A_ROW, Context
from srfix.serde.resolve import attributes_of, words_for
from srfix.serde.subjects import role_of

ABOUT_THE_PAYLOAD: Final = (*ABOUT_A_PAYLOAD, ColumnError)
"""What names no topic and no role yet, when reading raises it."""
ABOUT_THE_ROW: Final = (*ABOUT_A_ROW, ColumnError)
"""Likewise, when writing does."""

_Error = TypeVar("_Error", bound=SrfixError)


def read_from(error: _Error, ctx: Context | None, identity: int | UUID | None = None) -> _Error:
    """The same error, saying which payload it is about, and what that names its schema by."""
    carries = "" if identity is None else f", {words_for(identity)}"
    attributes: dict[str, object] = {"schema_id": None} if identity is None else attributes_of(identity)
    if ctx is None:
        return type(error)(f"A payload{carries}: {error.message}", **{**vars(error), **attributes})
    return _again(error, f"of topic {ctx.topic!r}{carries}: {error.message}", ctx, attributes)


def written_to(error: _Error, ctx: Context | None) -> _Error:
    """The same error, saying which payload was to be written."""
    return error if ctx is None else _again(error, f"for topic {ctx.topic!r}: {error.message}", ctx, {})


def _again(error: _Error, words: str, ctx: Context, more: dict[str, object]) -> _Error:
    # Not the field itself: confluent_kafka's is an enum, whose text depends on Python's version.
    role = role_of(ctx.field)
    return type(error)(f"A {role.value} {words}", **{**vars(error), "topic": ctx.topic, "role": role, **more})
