"""Pasted texts, as the clients of several generations word them, and what srfix reads in them."""
# ruff: noqa: E501  (the messages are quoted as the clients word them)

from __future__ import annotations

import json
import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.explain.catalogue import entry
from srfix.recovery.explain.stack_trace import StackTraceReading, read
from srfix.recovery.explain.trace_patterns import Symptom
from srfix.recovery.internal_topics import InternalTopicKind
from srfix.serde.bounds import LOG_CHARACTERS
from srfix.serde.subjects.names import Role
from tests.telling import slow_but

THREAD = "app-6f6a1a0e-9d0e-4f5c-8a53-1c8f3a9f0b11-StreamThread-1"
KSQLDB = "_confluent-ksql-default_query_CSAS_J_0"

STREAMS_2_6_3 = f"""\
2021-11-03 10:15:42,101 ERROR [{THREAD}] stream-thread [{THREAD}] Encountered the following exception
org.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_0, processor=KSTREAM-SOURCE-0000000000, topic=logins, partition=0, offset=1
\tat org.apache.kafka.streams.processor.internals.StreamTask.process(StreamTask.java:696)
Caused by: org.apache.kafka.common.errors.SerializationException: Error deserializing message from topic: app-users-store-changelog: Error retrieving Avro value schema version for id 1
\tat org.apache.kafka.streams.state.internals.MeteredKeyValueStore.get(MeteredKeyValueStore.java:139)
Caused by: org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema version for id 1
Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema not found; error code: 40403
\tat io.confluent.kafka.schemaregistry.client.rest.RestService.sendHttpRequest(RestService.java:292)
\tat io.confluent.kafka.schemaregistry.client.rest.RestService.lookUpSubjectVersion(RestService.java:353)
"""

KSQLDB_2020 = f"""\
org.apache.kafka.common.errors.SerializationException: Error deserializing message from topic: {KSQLDB}-KafkaTopic_Right-Reduce-changelog
Caused by: org.apache.kafka.connect.errors.DataException: Failed to deserialize data for topic {KSQLDB}-KafkaTopic_Right-Reduce-changelog to Avro:
\tat io.confluent.connect.avro.AvroConverter.toConnectData(AvroConverter.java:115)
\tat org.apache.kafka.streams.state.internals.MeteredKeyValueStore.get(MeteredKeyValueStore.java:133)
Caused by: org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema version for id 3
Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema not found; error code: 40403
"""

INCIDENTS = {
    "Streams 2.6.3": STREAMS_2_6_3,
    "CRLF": STREAMS_2_6_3.replace("\n", "\r\n"),
    "colours": re.sub(r"(ERROR|Caused by:)", "\x1b[1;31m\\1\x1b[0m", STREAMS_2_6_3).replace(
        "version", "\x1b[33mversion\x1b[m"
    ),
    "a compose prefix": "".join(f"streams-app_1  | {line}\n" for line in STREAMS_2_6_3.splitlines()),
    "a quoted mail": "".join(f"> {line}\n" for line in STREAMS_2_6_3.splitlines()),
    "a JSON log line": json.dumps({"level": "ERROR", "message": STREAMS_2_6_3}),
    "wrapped by words": "\n".join(
        part for line in STREAMS_2_6_3.splitlines() for part in textwrap.wrap(line, 78, break_on_hyphens=False)
    ),
    **{
        f"broken at {width} columns": "\n".join(
            line[start : start + width] for line in STREAMS_2_6_3.splitlines() for start in range(0, len(line), width)
        )
        for width in (80, 61)
    },
}


class TestTheIncident:
    @pytest.mark.parametrize("text", INCIDENTS.values(), ids=INCIDENTS.keys())
    def test_it_is_read_however_it_was_pasted(self, text: str) -> None:
        reading = read(text)
        assert reading.symptom is Symptom.PHANTOM_LOOKUP
        assert reading.finding == "SRF001"
        assert (reading.schema_id, reading.role, reading.error_code) == (1, Role.VALUE, 40403)
        assert reading.topic == "app-users-store-changelog"
        assert reading.subject == "app-users-store-changelog-value"
        assert reading.topic_kind is InternalTopicKind.CHANGELOG
        assert (reading.application, reading.store) == ("app", "users-store")
        assert reading.streams_versions == ("2.6.3",)
        assert not reading.is_cut

    def test_the_next_command_names_what_is_known(self) -> None:
        assert read(STREAMS_2_6_3).next_command == (
            "srfix diagnose --application app --store users-store --streams-version 2.6.3 --reader connect"
        )

    def test_a_ksqldb_trace_names_its_query_without_a_thread_name(self) -> None:
        reading = read(KSQLDB_2020)
        assert (reading.symptom, reading.schema_id) == (Symptom.PHANTOM_LOOKUP, 3)
        assert (reading.application, reading.store) == (KSQLDB, "KafkaTopic_Right-Reduce")
        assert reading.streams_versions == ("2.5.0", "2.5.1", "2.6.0")
        assert "The application is the ksqlDB query CSAS_J_0." in reading.clues
        assert "--streams-version" not in reading.next_command

    def test_the_jar_in_an_extended_frame_says_the_version(self) -> None:
        text = STREAMS_2_6_3.replace("(MeteredKeyValueStore.java:139)", "(X.java:1) ~[kafka-streams-2.5.1.jar:?]")
        assert read(text).streams_versions == ("2.5.1",)

    @pytest.mark.parametrize(
        ("message", "role"),
        [
            ("Error retrieving Avro schema version for id 7", None),
            ("Error retrieving Avro value schema version for id 7", Role.VALUE),
            ("Error retrieving Avro key schema version for id 7", Role.KEY),
            ("Error retrieving Avro unknown schema version for id 7", None),
            ("Error retrieving Protobuf value schema version for id 7", Role.VALUE),
            ("Error retrieving JSON value schema version for id 7", Role.VALUE),
        ],
    )
    def test_the_words_of_every_generation_are_known(self, message: str, role: Role | None) -> None:
        text = f"DataException: Failed to deserialize data for topic a-b-changelog to Avro: \nCaused by: {message}\n"
        reading = read(f"{text}Caused by: RestClientException: Schema not found; error code: 40403")
        assert (reading.symptom, reading.schema_id, reading.role) == (Symptom.PHANTOM_LOOKUP, 7, role)
        assert (reading.application, reading.store) == ("a", "b")
        assert reading.subject == ("a-b-changelog-key" if role is Role.KEY else "a-b-changelog-value")

    def test_a_subject_that_does_not_exist_is_the_incident_too(self) -> None:
        text = STREAMS_2_6_3.replace("Schema not found; error code: 40403", "Subject not found.; error code: 40401")
        assert (read(text).symptom, read(text).error_code) == (Symptom.PHANTOM_LOOKUP, 40401)

    def test_the_message_alone_is_enough(self) -> None:
        reading = read("Error retrieving Avro value schema version for id 3")
        assert (reading.symptom, reading.finding, reading.schema_id) == (Symptom.SUBJECT_LOOKUP, "SRF001", 3)
        assert (reading.topic, reading.subject, reading.error_code) == (None, None, None)
        assert "most likely this is the incident" in reading.title

    def test_an_ambiguous_name_is_not_split_but_its_splits_are_listed(self) -> None:
        text = "Failed to deserialize data for topic my-app-users-changelog to Avro:\nCaused by: Error retrieving Avro value schema version for id 3"
        reading = read(text)
        assert (reading.application, reading.store) == (None, None)
        assert reading.possible_applications == ("my-app", "my")
        assert reading.next_command.split()[:2] == ["srfix", "diagnose"]
        assert "--application" not in reading.next_command

    def test_a_generated_store_name_splits_an_ambiguous_one(self) -> None:
        topic = "my-app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog"
        reading = read(f"from topic: {topic}: Error retrieving Avro value schema version for id 3")
        assert (reading.application, reading.store) == ("my-app", "KSTREAM-AGGREGATE-STATE-STORE-0000000003")

    def test_the_last_of_several_failures_is_read_and_the_other_ids_are_listed(self) -> None:
        other = KSQLDB_2020.replace("for id 3", "for id 12")
        reading = read(other + "INFO nothing\n" * 10_000 + KSQLDB_2020 + STREAMS_2_6_3)
        assert reading.topic == "app-users-store-changelog"
        assert (reading.schema_id, reading.other_schema_ids) == (1, (3, 12))


RELATIVES: dict[str, tuple[tuple[Symptom, str | None, int | None, int | None], str]] = {
    "the upgrade mirror": (
        (Symptom.SUBJECT_LOOKUP, "SRF004", 2, 40403),
        "Error deserializing message from topic: users: Error retrieving Avro value schema version for id 2\n"
        "Caused by: RestClientException: Schema not found; error code: 40403",
    ),
    "an id that the registry lost": (
        (Symptom.UNKNOWN_ID, "SRF011", 96361, 40403),
        "SerializationException: Error retrieving Avro unknown schema for id 96361\n"
        "Caused by: RestClientException: Schema 96361 not found; error code: 40403",
    ),
    "5.3, by its frames a version look-up": (
        (Symptom.PHANTOM_LOOKUP, "SRF001", 5, 40403),
        "Failed to deserialize data for topic a-b-changelog to Avro:\nError retrieving Avro schema for id 5\n"
        "Caused by: RestClientException: Schema not found; error code: 40403\n"
        "\tat io.confluent.kafka.schemaregistry.client.rest.RestService.lookUpSubjectVersion(RestService.java:256)",
    ),
    "5.3, by its frames a look-up of the id": (
        (Symptom.UNKNOWN_ID, "SRF011", 5, 40403),
        "Failed to deserialize data for topic a-b-changelog to Avro:\nError retrieving Avro schema for id 5\n"
        "Caused by: RestClientException: Schema not found; error code: 40403\n"
        "\tat io.confluent.kafka.schemaregistry.client.rest.RestService.getId(RestService.java:479)",
    ),
    "an id in a named context": (
        (Symptom.PHANTOM_LOOKUP, "SRF001", 5, 40403),
        "Failed to deserialize data for topic a-b-changelog to Avro:\nError retrieving Avro value schema for id 5\n"
        "Caused by: RestClientException: Schema 5 not found; error code: 40403\n"
        "GET http://registry:8081/contexts/.eu/schemas/ids/5?fetchMaxId=false&subject=a-b-changelog-value",
    ),
    "5.3 without frames": (
        (Symptom.ID_OR_SUBJECT, None, 5, 40403),
        "Error retrieving Avro schema for id 5\nRestClientException: Schema not found; error code: 40403",
    ),
    "409 on a put": (
        (Symptom.INCOMPATIBLE_WRITE, "SRF012", None, 409),
        "Error registering Avro schema: {}\nCaused by: RestClientException: Schema being registered is incompatible "
        "with an earlier schema; error code: 409",
    ),
    "409 of a newer registry": (
        (Symptom.INCOMPATIBLE_WRITE, "SRF012", None, 40901),
        'Error registering Avro schema{"type":"record"}\nCaused by: RestClientException: Schema being registered is '
        'incompatible with an earlier schema for subject "users-value", details: []; error code: 40901',
    ),
    "a writer without auto-registration": (
        (Symptom.REFUSED_WRITE, "SRF015", None, 40401),
        'Error retrieving Avro schema: {"type":"record"}\nCaused by: RestClientException: Subject not found.; error code: 40401',
    ),
    "a read-only subject": (
        (Symptom.REFUSED_WRITE, "SRF015", None, 42205),
        "Error registering Avro schema\nCaused by: RestClientException: Subject x is in read-only mode; error code: 42205",
    ),
    "no right to register": (
        (Symptom.REFUSED_WRITE, "SRF015", None, 40301),
        "Error registering Avro schema\nCaused by: RestClientException: User is denied operation Write; error code: 40301",
    ),
    "an unframed value": (
        (Symptom.UNFRAMED, "SRF013", None, None),
        "Error deserializing Avro message for id -1\nCaused by: SerializationException: Unknown magic byte!",
    ),
    "an unframed value in Python": (
        (Symptom.UNFRAMED, "SRF013", None, None),
        "confluent_kafka.serialization.SerializationError: Unexpected magic byte 123. This message was not produced "
        "with a Confluent Schema Registry serializer",
    ),
    "an unframed value in srfix": (
        (Symptom.UNFRAMED, "SRF013", None, None),
        "srfix: The payload starts with the byte 7b; a framed one starts with 00 (schema id) or 01 (schema GUID).",
    ),
    "a body that does not fit": (
        (Symptom.UNDECODABLE, "SRF013", 4, None),
        "Error deserializing Avro message for id 4\nCaused by: java.io.EOFException",
    ),
    "wrong credentials": (
        (Symptom.UNAUTHORIZED, None, 4, 401),
        "Error retrieving Avro value schema for id 4\nCaused by: RestClientException: Unauthorized; error code: 401",
    ),
    "a forbidden read": (
        (Symptom.UNAUTHORIZED, None, 4, 403),
        "Error retrieving Avro value schema version for id 4\nCaused by: RestClientException: Forbidden; error code: 403",
    ),
    "an unreachable registry": (
        (Symptom.UNREACHABLE, None, 4, None),
        "Error retrieving Avro value schema version for id 4\nCaused by: java.net.ConnectException: Connection refused",
    ),
    "an unreachable broker": (
        (Symptom.UNREACHABLE, None, None, None),
        "[AdminClient] Connection to node -1 (kafka/10.0.0.1:9092) could not be established. Broker may not be available.",
    ),
    "a registry in trouble": (
        (Symptom.REGISTRY_FAILED, None, 4, 50002),
        "Error retrieving Avro value schema version for id 4\nCaused by: RestClientException: Timed out; error code: 50002",
    ),
    "a proxy's page": (
        (Symptom.NOT_A_REGISTRY, None, None, 50005),
        "RestClientException: Unexpected character ('<' (code 60)): expected a valid value; error code: 50005",
    ),
    "confluent-kafka for Python": (
        (Symptom.UNKNOWN_ID, "SRF011", 96361, 40403),
        'ValueDeserializationError: KafkaError{code=_VALUE_DESERIALIZATION,val=-159,str="Schema 96361 not found '
        '(HTTP status code 404, SR code 40403)"}',
    ),
    "confluent-kafka for Go": (
        (Symptom.ID_OR_SUBJECT, None, None, 40403),
        'msg="consumed malformed data" error="schema registry request failed error code: 40403: Schema not found"',
    ),
    "a registry's own answer to a look-up": (
        (Symptom.PHANTOM_LOOKUP, "SRF001", None, 40401),
        '$ curl -s http://sr:8081/subjects/app-users-changelog-value\n{"error_code":40401,"message":"Subject '
        "'app-users-changelog-value' not found.\"}",
    ),
    "a Databricks job": (
        (Symptom.UNKNOWN_ID, "SRF011", 17, None),
        "org.apache.spark.SparkException: [SCHEMA_ID_NOT_FOUND] the schema with id 17 cannot be read",
    ),
}
"""Symptom, finding, schema id and error code of each text."""


class TestRelatives:
    @pytest.mark.parametrize(("expected", "text"), RELATIVES.values(), ids=RELATIVES)
    def test_each_is_told_from_the_incident(
        self, expected: tuple[Symptom, str | None, int | None, int | None], text: str
    ) -> None:
        reading = read(text)
        assert (reading.symptom, reading.finding, reading.schema_id, reading.error_code) == expected
        assert reading.finding is None or entry(reading.finding) is not None
        assert reading.next_command.split()[:2] == ["srfix", "diagnose"]

    def test_credentials_are_asked_for_as_a_reference(self) -> None:
        reading = read(
            "Error retrieving Avro value schema for id 4\nRestClientException: Unauthorized; error code: 401"
        )
        assert "-R basic.auth.user.info=USER:env:REGISTRY_PASSWORD" in reading.next_command


class TestNotRecognised:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "hello",
            "java.lang.NullPointerException\n\tat com.acme.Main.main(Main.java:3)",
            "psycopg2.OperationalError: Connection refused",
            "offset=40403, partition=409)",
            "\x00\x01\x02",
        ],
    )
    def test_it_says_so_and_still_names_a_next_step(self, text: str) -> None:
        reading = read(text)
        assert not reading.is_recognised
        assert (reading.finding, reading.schema_id, reading.clues) == (None, None, ())
        assert reading.next_command == "srfix diagnose"

    @given(text=st.text())
    def test_no_text_makes_it_fail(self, text: str) -> None:
        assert isinstance(read(text), StackTraceReading)

    @given(
        pieces=st.lists(
            st.sampled_from(
                [*STREAMS_2_6_3.split(), "\n", "\x1b[", "id", "-1", "99999999999", "'", "%zz", "/subjects/%ff-value"]
            )
        )
    )
    def test_no_mixture_of_its_own_words_makes_it_fail(self, pieces: list[str]) -> None:
        assert isinstance(read(" ".join(pieces)), StackTraceReading)


@pytest.mark.core
class TestSecrets:
    def test_nothing_that_the_text_holds_beside_names_is_repeated(self) -> None:
        text = (
            "RestService: Failed to send HTTP request to endpoint: https://key:s3cret@sr:8081/subjects/app-users-changelog-value\n"
            "basic.auth.user.info = key:s3cret\n" + STREAMS_2_6_3
        )
        assert "s3cret" not in repr(read(text))


class TestLongTexts:
    def test_of_a_log_that_is_too_long_the_end_is_read(self) -> None:
        reading = read("x" * 79 + "\n" + "INFO something else\n" * (LOG_CHARACTERS // 20) + STREAMS_2_6_3)
        assert reading.is_cut
        assert (reading.symptom, reading.schema_id) == (Symptom.PHANTOM_LOOKUP, 1)

    @pytest.mark.parametrize(
        "filler",
        slow_but(["\n", " ", "a", "Error retrieving Avro ", "at x.get(", "topic ", "\x1b", "-"], "\n", "topic "),
    )
    def test_a_hostile_text_takes_no_more_than_linear_time(self, filler: str) -> None:
        assert isinstance(read(filler * (1_000_000 // len(filler))), StackTraceReading)


SINK = """\
[2024-05-02 08:00:11,201] ERROR [jdbc-sink|task-0] WorkerSinkTask{id=jdbc-sink-0} Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted (org.apache.kafka.connect.runtime.WorkerTask:212)
org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler
\tat org.apache.kafka.connect.runtime.errors.RetryWithToleranceOperator.execAndHandleError(RetryWithToleranceOperator.java:230)
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertAndTransformRecord(WorkerSinkTask.java:516)
Caused by: org.apache.kafka.connect.errors.DataException: Failed to deserialize data for topic users to Avro:
\tat io.confluent.connect.avro.AvroConverter.toConnectData(AvroConverter.java:148)
Caused by: org.apache.kafka.common.errors.SerializationException: Error retrieving Avro value schema version for id 7
Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema not found; error code: 40403
"""
SOURCE_TASK = """\
[2024-05-02 08:00:11,201] ERROR WorkerSourceTask{id=debezium-0} Task threw an uncaught and unrecoverable exception (org.apache.kafka.connect.runtime.WorkerTask:191)
Caused by: org.apache.kafka.connect.errors.DataException: Failed to serialize Avro data from topic inventory.users :
Caused by: org.apache.kafka.common.errors.SerializationException: Error registering Avro schema{"type":"record"}
Caused by: io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException: Schema being registered is incompatible with an earlier schema; error code: 409
"""
UNFRAMED_SINK = """\
\tat org.apache.kafka.connect.runtime.WorkerSinkTask.convertValue(WorkerSinkTask.java:540)
Caused by: org.apache.kafka.common.errors.SerializationException: Unknown magic byte!
"""
CONVERTER_ALONE = SINK[SINK.index("Caused by: org.apache.kafka.connect.errors.DataException") :]


class TestConnectTasks:
    @pytest.mark.parametrize(
        ("text", "topic", "schema_id"),
        [
            (SINK, "users", 7),
            (SINK.replace("topic users to", "topic app-users-store-changelog to"), "app-users-store-changelog", 7),
            (SOURCE_TASK, "inventory.users", None),
            (UNFRAMED_SINK, None, None),
            (CONVERTER_ALONE, "users", 7),
        ],
        ids=["sink", "sink of a changelog", "source", "unframed", "the causes alone"],
    )
    def test_one_is_named_as_such_and_is_not_the_incident(
        self, text: str, topic: str | None, schema_id: int | None
    ) -> None:
        found = read(text)
        assert (found.symptom, found.finding) == (Symptom.CONNECT_TASK, None)
        assert (found.topic, found.schema_id) == (topic, schema_id)
        assert (found.application, found.store, found.possible_applications) == (None, None, ())
        assert "this is not the incident" in found.title
        assert found.next_command == f"srfix check --reader connect {topic or 'TOPIC'}"

    def test_what_it_rests_on_is_said(self) -> None:
        assert "The frames are those of a Kafka Connect task." in read(SINK).clues
        assert any("the text has no frame of Kafka Streams" in clue for clue in read(CONVERTER_ALONE).clues)

    def test_ksqldb_reads_with_the_same_converter_and_stays_the_incident(self) -> None:
        assert read(KSQLDB_2020).symptom is Symptom.PHANTOM_LOOKUP
        on_2_7 = KSQLDB_2020.replace(f"{KSQLDB}-KafkaTopic_Right-Reduce-changelog", "users")
        assert read(on_2_7).symptom is Symptom.SUBJECT_LOOKUP

    def test_of_two_traces_in_one_log_the_nearer_frames_decide(self) -> None:
        earlier = SINK[: SINK.index("Caused by: org.apache.kafka.connect.errors.DataException")]
        assert read(earlier + STREAMS_2_6_3).symptom is Symptom.PHANTOM_LOOKUP
        later = STREAMS_2_6_3[: STREAMS_2_6_3.index("Caused by")] + "\n" + SINK
        assert read(later).symptom is Symptom.CONNECT_TASK

    def test_credentials_and_the_network_are_named_first(self) -> None:
        assert read(SINK.replace("40403", "401").replace("Schema not found", "Unauthorized")).symptom is (
            Symptom.UNAUTHORIZED
        )
