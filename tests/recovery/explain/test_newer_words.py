"""What people paste of late: Confluent 8.x, ksqlDB's processing log, a registry that is busy, damaged state, kubectl."""

from __future__ import annotations

import pytest

from srfix.recovery.explain.stack_trace import read
from srfix.recovery.explain.trace_patterns import Symptom

ID = "SchemaId{{schemaType='{kind}', id=7, guid='null', messageIndexes=null}}"
CAUSE = "\nCaused by: RestClientException: Schema not found; error code: 40403"
CONVERTER = "Failed to deserialize data for topic users to Avro: "


@pytest.mark.parametrize("role", ["value", "key"])
@pytest.mark.parametrize(("name", "kind"), [("Avro", "AVRO"), ("JSON", "JSON"), ("Protobuf", "PROTOBUF")])
def test_the_id_within_its_braces(name: str, kind: str, role: str) -> None:
    text = f"for topic shop-t-changelog to {name}: Error retrieving {name} {role} schema version for id {ID.format(kind=kind)}"
    found = read(text + CAUSE)
    assert (found.symptom, found.schema_id, found.finding) == (Symptom.PHANTOM_LOOKUP, 7, "SRF001")
    assert found.role is not None
    assert found.role.value == role


@pytest.mark.parametrize(
    "text",
    [
        "DataException: Trailing data found after end of record (10 bytes remaining)",
        "AvroTypeException: Found string, expecting union",
    ],
)
def test_bodies_that_do_not_fit(text: str) -> None:
    assert read(text).symptom is Symptom.UNDECODABLE


@pytest.mark.parametrize(
    "log",
    [
        '{{"logger":"processing.CSAS_X_1","message":{{"type":0,"deserializationError":{{"errorMessage":"{text}"}}}}}}',
        'KSQL_PROCESSING_LOG {{"MESSAGE":{{"DESERIALIZATIONERROR":null,"TEXT":"{text}"}}}}',
        "kafkaStreamsThreadError {text}",
    ],
    ids=["a line", "a row", "a thread"],
)
def test_ksqldbs_processing_log_is_no_connect_task(log: str) -> None:
    text = f"{CONVERTER}Error retrieving Avro value schema version for id 7{CAUSE}"
    assert read(log.format(text=text)).symptom is Symptom.SUBJECT_LOOKUP
    assert read(text).symptom is Symptom.CONNECT_TASK


@pytest.mark.parametrize("code", [429, 42901, 408, 40801, 405, 422, 500, 503])
def test_a_registry_that_answers_nothing_of_schemas(code: int) -> None:
    text = f"Error registering Avro schema\nCaused by: RestClientException: no; error code: {code}"
    assert read(text).symptom is Symptom.REGISTRY_FAILED


@pytest.mark.parametrize(
    ("cause", "symptom"),
    [
        ("RestClientException: User is denied operation Read; error code: 40301", Symptom.UNAUTHORIZED),
        ("RestClientException: User is unauthorized; error code: 40101", Symptom.UNAUTHORIZED),
        ("java.net.SocketException: Connection reset", Symptom.UNREACHABLE),
        ("java.io.EOFException: Unexpected end of file from server", Symptom.UNREACHABLE),
        ("java.net.http.HttpTimeoutException: request timed out", Symptom.UNREACHABLE),
    ],
)
def test_a_lookup_that_was_not_answered_is_not_the_incident(cause: str, symptom: Symptom) -> None:
    assert read(f"Error retrieving Avro value schema version for id 7\nCaused by: {cause}").symptom is symptom


@pytest.mark.parametrize(
    "text",
    [
        "org.apache.kafka.streams.errors.TaskCorruptedException: Tasks [0_1] are corrupted and hence need to be re-initialized",
        "Caused by: org.rocksdb.RocksDBException: Corruption: block checksum mismatch in 000012.sst",
    ],
)
def test_damaged_state_is_no_matter_of_schemas(text: str) -> None:
    found = read(text)
    assert (found.symptom, found.finding) == (Symptom.STATE_ON_DISK, None)


def test_but_what_was_not_found_beside_it_is() -> None:
    text = f"TaskCorruptedException: [0_1]\nError retrieving Avro value schema version for id 7{CAUSE}"
    assert read(text).symptom is Symptom.SUBJECT_LOOKUP


@pytest.mark.parametrize("prefix", ["[pod/shop-0/app] ", "app-1  | ", "app-1  | 2020-06-16T03:00:00.1Z "])
def test_what_log_collectors_put_before_each_line(prefix: str) -> None:
    lines = ["Error retrieving Avro value schema version", "for id 7", *CAUSE.split("\n")]
    found = read("\n".join(f"{prefix}{line}" for line in lines))
    assert (found.symptom, found.schema_id) == (Symptom.SUBJECT_LOOKUP, 7)


LOOKUP = "Error retrieving Avro value schema version for id 7"


@pytest.mark.parametrize(
    "text",
    [
        "SerializationException: Size of data received by LongDeserializer is not 8",
        "DataException: Converting byte[] to Kafka Connect data failed due to serialization error",
    ],
)
def test_what_another_serializer_wrote(text: str) -> None:
    assert (read(text).symptom, read(text).finding) == (Symptom.UNDECODABLE, "SRF013")


def test_a_path_that_the_registry_has_not_says_nothing_of_schemas() -> None:
    assert read(f"{LOOKUP}\nCaused by: RestClientException: HTTP 404 Not Found; error code: 404").symptom is (
        Symptom.NOT_A_REGISTRY
    )


def test_a_proxys_status_in_the_words_of_java() -> None:
    cause = "java.io.IOException: Server returned HTTP response code: 503 for URL: http://r:8081/subjects"
    assert read(f"{LOOKUP}\nCaused by: {cause}").symptom is Symptom.REGISTRY_FAILED


def test_without_the_cause_it_is_most_likely_so() -> None:
    text = f"for topic shop-t-changelog to Avro: {LOOKUP}"
    alone, whole = read(text), read(text + CAUSE)
    assert alone.title.startswith("Most likely: ")
    assert "does not contain the cause" in alone.explanation
    assert not whole.title.startswith("Most likely")


def test_a_source_node_asks_for_no_store() -> None:
    text = f"for topic users to Avro: {LOOKUP}{CAUSE}\n\tat org.apache.kafka.streams.processor.internals.SourceNode.x"
    assert read(text).finding == "SRF017"
    assert read(f"{text}\n\tat MeteredKeyValueStore.get").finding == "SRF004"


def entry(second: int, text: str) -> str:
    return f"[2020-06-16 03:00:{second:02},123] ERROR {text}"


def test_two_errors_in_one_log_are_two() -> None:
    refused = "for topic shop-u-changelog to Avro: Error registering Avro schema\nCaused by: No; error code: 42901"
    log = [entry(1, f"{LOOKUP}{CAUSE}"), entry(2, refused), entry(3, "RocksDBException: Corruption: bad block")]
    found = read("\n".join(log))
    assert (found.symptom, found.topic, found.error_code) == (Symptom.SUBJECT_LOOKUP, None, 40403)
    assert "The text contains other errors" in found.clues[-1]
    assert "files are damaged" in found.clues[-1]


def test_what_two_containers_wrote_at_once_is_taken_apart() -> None:
    one = [f"for topic shop-t-changelog to Avro: {LOOKUP}", "Caused by: no; error code: 40403"]
    two = ["for topic hits to Avro: Error registering Avro schema", "Caused by: no; error code: 42201"]
    log = [f"{name} | {line}" for lines in zip(one, two, strict=True) for name, line in zip("ab", lines, strict=True)]
    found = read("\n".join(log))
    assert (found.topic, found.error_code) == ("shop-t-changelog", 40403)


def test_a_quoted_mail() -> None:
    found = read(
        "> Error retrieving Avro value\n> schema version for id 7\n>> Caused by: no, not at all; error code: 40403"
    )
    assert (found.schema_id, found.error_code) == (7, 40403)
