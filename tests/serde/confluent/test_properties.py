"""For generated schemas and values: the bytes of confluent-kafka's serializers, the rows of its deserializers."""

from __future__ import annotations

import math
import re
from typing import cast

import pytest
from confluent_kafka.serialization import SerializationError
from hypothesis import HealthCheck, event, given, settings

from srfix.serde import EncodeError, OutOfRangeError
from srfix.serde.confluent import AvroDeserializer, AvroSerializer, JSONDeserializer, JSONSerializer
from tests.serde.confluent import peers
from tests.serde.confluent.strategies import AvroCase, JsonCase, avro_cases, json_cases

pytestmark = pytest.mark.slow
MANY = settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
CTX = peers.context()


@MANY
@given(avro_cases())
def test_avro_bytes_and_rows_are_confluents(case: AvroCase) -> None:
    client = peers.mock_client()
    theirs = peers.their_avro_serializer(client, case.text)
    ours = AvroSerializer(client, case.text)
    read_theirs = peers.their_avro_deserializer(client)
    read_ours = AvroDeserializer(client)
    named_theirs = peers.their_avro_deserializer(client, names=True)
    named_ours = AvroDeserializer(client, return_record_name=True)
    for value in case.values:
        try:
            expected = theirs(value, CTX)
        except Exception:  # noqa: BLE001 - what they do not take, for whatever reason, we do not take either
            event("refused by both")
            with pytest.raises(EncodeError):
                ours(value, CTX)
            continue
        assert ours(value, CTX) == expected
        if expected is not None and len(expected) > 5:
            try:
                row = read_ours(expected, CTX)
            except OutOfRangeError as error:
                if "UUID" in str(error):  # what was meant for another branch of a union
                    event("no UUID, which neither reads")
                    with pytest.raises(ValueError, match="badly formed hexadecimal UUID"):
                        read_theirs(expected, CTX)
                    continue
                told = re.search(r"The value (-?\d+) at .* TIME: .* the \w+ 0 to (\d+) of a day", str(error))
                if told is None or 0 <= int(told[1]) <= int(told[2]):
                    raise
                event("a time before its day, of which they make another time")
                continue
            assert repr(row) == repr(read_theirs(expected, CTX))
            assert repr(named_ours(expected, CTX)) == repr(named_theirs(expected, CTX))


def _whole(value: object) -> bool:
    """Whether both libraries agree on all numbers of a document: they hold beyond 2^53 in different types."""
    if isinstance(value, list | dict):
        return all(_whole(part) for part in (value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or (math.isfinite(value) and abs(value) < 2**53)


@MANY
@given(json_cases())
def test_json_bytes_rows_and_verdicts_are_confluents(case: JsonCase) -> None:
    client = peers.mock_client()
    theirs, ours = peers.their_json_serializer(client, case.text), JSONSerializer(case.text, client)
    blind = JSONSerializer(case.text, client, conf={"validate": False})
    read_theirs = peers.their_json_deserializer(client)
    read_ours = JSONDeserializer(None, schema_registry_client=client)
    for document in filter(_whole, case.documents):
        try:
            expected = theirs(document, CTX)
        except SerializationError:
            event("invalid")
            with pytest.raises(EncodeError):
                ours(document, CTX)
            payload = cast("bytes", blind(document, CTX))
            with pytest.raises(SerializationError):
                read_theirs(payload, CTX)
            with pytest.raises(ValueError, match="does not fit its JSON Schema"):
                read_ours(payload, CTX)
            continue
        event("valid")
        assert ours(document, CTX) == expected == blind(document, CTX)
        assert repr(read_ours(expected, CTX)) == repr(read_theirs(cast("bytes", expected), CTX))
