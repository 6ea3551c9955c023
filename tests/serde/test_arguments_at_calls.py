"""Arguments that are wrong in a way that shows in nothing but the result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    AvroDeserializer,
    AvroSerializer,
    JsonDeserializer,
    JsonSerializer,
    SchemaDeserializer,
    SrfixError,
    UsageError,
    WindowedDeserializer,
    WindowedSerializer,
    WindowKind,
    confluent,
    deserialize_many,
)


def test_an_empty_text_is_no_topic() -> None:
    """Seen: the schema went under the subject '-value'."""
    with FixtureRegistry() as server, confluent.AvroSerializer(server.url, columns="ID INT") as serialize:
        with pytest.raises(UsageError, match=r"^The topic's name is empty\."):
            serialize({"id": 1}, "")
        assert server.writes == 0


def test_on_error_is_one_of_its_words() -> None:
    """Seen: anything else was quarantine."""
    with pytest.raises(UsageError, match="on_error is 'raise'; it must be one of 'fail',"):
        deserialize_many([b"{"], "t", JsonDeserializer(), on_error="raise")  # type: ignore[call-overload]


NO_REGISTRY = "http://127.0.0.1:9"


@pytest.mark.parametrize("value", [7, 1.5, b"", [], {}, object(), int, True])
@pytest.mark.parametrize(
    ("make", "name"),
    [
        (partial(AvroDeserializer, NO_REGISTRY), "reader_schema"),
        (partial(SchemaDeserializer, NO_REGISTRY), "reader_schema"),
        (partial(AvroSerializer, NO_REGISTRY, "ID INT"), "full_name"),
    ],
)
def test_an_argument_that_is_no_text_is_named(make: Callable[..., object], name: str, value: object) -> None:
    """Seen: AttributeError."""
    with pytest.raises(UsageError, match=rf"^{name} is "):
        make(**{name: value})


@pytest.mark.parametrize("value", ["", 1.5, b"", [], {}, object(), int, True])
def test_a_windows_size_that_is_no_int_is_named(value: Any) -> None:
    """Seen: TypeError."""
    with pytest.raises(SrfixError, match=r"^size_ms is "):
        WindowedDeserializer(JsonDeserializer(), WindowKind.TIME, size_ms=value)


@pytest.mark.parametrize(("payload", "ctx"), [(7, "t"), ("k", "t"), ([], "t"), (b"k", 7), (None, 7)])
def test_what_is_no_windowed_key_or_no_context_is_named(payload: Any, ctx: Any) -> None:
    """Seen: TypeError and AttributeError; an empty list was a null key."""
    read = WindowedDeserializer(JsonDeserializer(), WindowKind.TIME)
    with pytest.raises(UsageError, match=r"^(A payload|The context) is of the type "):
        read(payload, ctx)
    if ctx == 7:
        with pytest.raises(UsageError, match=r"^The context is of the type int;"):
            WindowedSerializer(JsonSerializer(), WindowKind.TIME)(None, ctx)
