"""Arguments that are wrong in a way that shows in nothing but the result."""

from __future__ import annotations

import pytest

from srfix.fixtures.registry import FixtureRegistry
from srfix.serde import JsonDeserializer, UsageError, confluent, deserialize_many


def test_an_empty_text_is_no_topic() -> None:
    """Seen: the schema went under the subject '-value'."""
    with FixtureRegistry() as server, confluent.AvroSerializer(server.url, columns="ID INT") as serialize:
        with pytest.raises(UsageError, match=r"^The topic's name is empty\."):
            serialize({"id": 1}, "")
        assert server.writes == 0


def test_on_error_is_one_of_its_words() -> None:
    """Seen: anything else was quarantine."""
    with pytest.raises(UsageError, match=r"^on_error is 'raise'; it must be one of 'fail', 'quarantine'\.$"):
        deserialize_many([b"{"], "t", JsonDeserializer(), on_error="raise")  # type: ignore[arg-type]
