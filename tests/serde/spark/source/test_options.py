"""The options of `format("srfix")`: what is taken, and what is said of what is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from srfix.serde import CaseRule, Role, SecretError, UsageError
from srfix.serde.columns.text import parse_columns
from srfix.serde.formats.table import Format
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.spark import source
from srfix.serde.spark.source.frame import registry_of, with_columns
from srfix.serde.spark.source.names import _OPTIONS, Policy, Tombstones, Use
from srfix.serde.spark.source.options import SourceOptions, source_options
from tests.serde.properties.java_stores import CHAIN, KEY, der, jks, key_der

SERVERS = {"bootstrap.servers": "broker:9092"}
LEAST = {**SERVERS, "topic": "users", "registry": "http://registry:8081"}


def options(use: Use = Use.BATCH, **given: str) -> SourceOptions:
    """Options by names whose dots are written as two underscores, beside the least that there must be."""
    return source_options(LEAST | {name.replace("__", "."): value for name, value in given.items()}, use)


class TestSourceOptions:
    def test_the_least_is_a_cluster_a_topic_and_a_registry(self) -> None:
        found = options()
        assert (found.topic, found.kafka, found.registry.urls) == ("users", SERVERS, "http://registry:8081")
        assert (found.format, found.role, found.policy) == (Format.AVRO, Role.VALUE, Policy.BY_ID)
        assert found.on_error == "fail"
        assert found.case_rule is CaseRule.UNIQUE
        assert found.isolation is Isolation.READ_COMMITTED
        assert found.tombstones is Tombstones.KEEP
        of_sinks = LEAST | {"checkpointLocation": "/somewhere"}  # which Spark tells sinks
        assert source_options(of_sinks, Use.WRITE).tombstones is Tombstones.REFUSE

    def test_names_come_in_any_letter_case_as_spark_hands_them_over(self) -> None:
        found = options(Use.STREAM, startingoffsets="earliest", MAXOFFSETSPERTRIGGER="7")
        assert (found.starting_offsets, found.max_offsets_per_trigger) == ("earliest", 7)

    def test_kafkas_properties_lose_their_prefix_and_javas_names(self) -> None:
        given = {"security.protocol": "SSL", "request.timeout.ms": "5", "isolation.level": "read_uncommitted"}
        found = source_options(LEAST | {f"kafka.{name}": value for name, value in given.items()}, Use.BATCH)
        assert found.kafka == {**SERVERS, "security.protocol": "SSL", "socket.timeout.ms": "5"}
        assert found.isolation is Isolation.READ_UNCOMMITTED

    @pytest.mark.parametrize("front", ["registry.", "schema.registry.", "registry.schema.registry.", ""])
    def test_the_registrys_properties_have_confluents_names(self, front: str) -> None:
        found = source_options({**LEAST, f"{front}basic.auth.user.info": "me:env:PASSWORD"}, Use.BATCH)
        assert found.registry.user_info == "me:env:PASSWORD"
        for name in ("registry.url", "schema.registry.url"):
            url = source_options({**SERVERS, "topic": "users", name: "http://r:8081"}, Use.SCHEMA).registry.urls
            assert url == "http://r:8081"

    @pytest.mark.parametrize(
        ("option", "value", "place"),
        [
            ("topic", "users", ("users", None)),
            ("subscribe", "users", ("users", None)),
            ("assign", '{"users": [2, 0, 2]}', ("users", (0, 2))),
        ],
    )
    def test_the_topic_has_the_names_of_sparks_kafka_source(
        self, option: str, value: str, place: tuple[str, tuple[int, ...] | None]
    ) -> None:
        found = source_options({**SERVERS, option: value, "registry": "http://r"}, Use.STREAM)
        assert (found.topic, found.partitions) == place

    @pytest.mark.parametrize(
        ("option", "value", "message"),
        [
            ("subscribe", "a,,b", "must be one or more topics, such as users,orders, not 'a,,b'"),
            ("subscribePattern", "(", "must be a regular expression for the names of topics"),
            *(
                ("assign", value, "must be JSON of topics and their partitions")
                for value in ("users", "{}", '{"a": [0], "b": []}', '{"a": 0}', '{"a": [-1]}', '{"": [0]}')
            ),
        ],
    )
    def test_what_names_no_topics_is_refused(self, option: str, value: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            source_options({**SERVERS, option: value, "registry": "http://r"}, Use.BATCH)

    @pytest.mark.parametrize(
        ("option", "value", "topics"),
        [
            ("subscribe", "users, Users,orders", {"users": None, "Users": None, "orders": None}),
            ("assign", '{"users": [2, 0], "orders": [1]}', {"users": (0, 2), "orders": (1,)}),
            ("subscribePattern", "users|orders", {}),
        ],
    )
    def test_several_topics_have_the_names_of_sparks_kafka_source(
        self, option: str, value: str, topics: dict[str, tuple[int, ...] | None]
    ) -> None:
        for use in (Use.SCHEMA, Use.BATCH, Use.STREAM):
            found = source_options({**SERVERS, option: value, "registry": "http://r"}, use)
            assert (found.topic, found.topics, found.is_several) == (None, topics, True)
        assert found.pattern == (value if option == "subscribePattern" else None)

    def test_files_are_of_one_topic(self) -> None:
        given = {"path": "/x", "subscribe": "a,b", "registry": "http://r", "columns": "ID INT"}
        with pytest.raises(
            UsageError, match=r"^A read of files returns the rows of one topic, or raw records of all topics\."
        ):
            source_options(given, Use.BATCH)

    @pytest.mark.parametrize("columns", [{}, {"columns": "ID INT"}])
    def test_a_literal_password_is_refused_before_anything_is_asked(self, columns: dict[str, str]) -> None:
        given = {**LEAST, **columns, "registry.basic.auth.user.info": "me:in-the-sql"}
        with pytest.raises(SecretError, match=r"As an option: .*USER:env:NAME") as caught:
            with_columns(source_options(given, Use.SCHEMA))
        assert "in-the-sql" not in str(caught.value)

    def test_no_secret_is_in_the_repr(self) -> None:
        secrets = {"kafka.sasl.password": "hush2", "registry.basic.auth.user.info": "me:hush3"}
        found = source_options(LEAST | {"registry": "http://me:hush1@registry"} | secrets, Use.BATCH)
        assert "hush" not in repr(found)

    def test_a_dual_policy_has_two_subjects(self) -> None:
        found = options(policy="dual-subject", subject__first="users-value", subject__second="phantom-value")
        assert (found.policy, found.subjects) == (Policy.DUAL_SUBJECT, ("users-value", "phantom-value"))

    def test_raw_needs_no_registry_and_shows_the_columns_of_sparks_kafka_source(self) -> None:
        found = source_options({**SERVERS, "topic": "users", "format": "raw"}, Use.BATCH)
        assert found.is_raw
        json = {"kafka.bootstrap.servers": "broker:9092", "topic": "users", "format": "json"}
        assert source_options(json, Use.BATCH).kafka == SERVERS
        assert found.metadata == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")

    def test_a_writer_keeps_the_times_of_its_columns(self) -> None:
        given = LEAST | {"columns": "SEEN TIMESTAMP", "times": "integers"}
        found = {use: source_options(given, use).columns for use in (Use.BATCH, Use.WRITE)}
        assert found == {Use.BATCH: parse_columns("SEEN BIGINT"), Use.WRITE: parse_columns("SEEN TIMESTAMP")}

    def test_kafkas_properties_are_not_for_files(self) -> None:
        given = {"path": "/captured", "format": "raw", "kafka.isolation.level": "read_uncommitted"}
        with pytest.raises(UsageError, match=r"^Give either path"):
            source_options(given, Use.BATCH)

    def test_a_path_stands_for_the_cluster(self) -> None:
        found = source_options({"path": "/captured", "format": "raw"}, Use.BATCH)
        assert (found.path, found.topic) == ("/captured", None)

    @pytest.mark.parametrize(
        ("use", "given", "message"),
        [
            (
                Use.BATCH,
                {"topik": "x"},
                r"There is no option topik\. Did you mean topic\? The options for a batch read: .*",
            ),
            (Use.BATCH, {"subscribePattern": "x"}, "The options topic and subscribePattern each name the topic"),
            (Use.BATCH, {"zzz": "x"}, r"There is no option zzz\. The options for a batch read: "),
            (Use.STREAM, {"endingOffsets": "latest"}, "The option endingOffsets is not for a stream"),
            (Use.BATCH, {"maxOffsetsPerTrigger": "5"}, "The option maxOffsetsPerTrigger is not for a batch read"),
            (Use.WRITE, {"startingOffsets": "latest"}, "The option startingOffsets is not for a write"),
            (
                Use.BATCH,
                {"format": "xml"},
                "The option format must be one of avro, json_sr, protobuf, json, delimited, protobuf_nosr and raw, not 'xml'",
            ),
            (
                Use.BATCH,
                {"on.error": "skip"},
                r"The option on\.error must be one of fail, quarantine, null, not 'skip'",
            ),
            (Use.BATCH, {"policy": "dual"}, r".*dual-subject, not 'dual'\. Did you mean dual-subject\?$"),
            (Use.BATCH, {"tombstones": "write"}, "The option tombstones must be one of keep, drop for a batch read"),
            (Use.BATCH, {"times": "micros"}, "The option times must be one of datetimes, integers, not 'micros'"),
            (Use.WRITE, {"times": "nanos"}, "The option times must be one of datetimes, integers, micros, not 'nanos'"),
            (Use.BATCH, {"failOnDataLoss": "maybe"}, "The option failOnDataLoss must be true or false, not 'maybe'"),
            (
                Use.BATCH,
                {"minPartitions": "0"},
                "The option minPartitions must be a whole number of at least 1, not '0'",
            ),
            (
                Use.BATCH,
                {"metadata": "offset,size"},
                "The option metadata must be all, none, or some of key, .*: 'size'",
            ),
            (Use.BATCH, {"metadata": "offset,offset"}, "The option metadata .* each once: 'offset'"),
            (Use.BATCH, {"format": "raw", "metadata": "all"}, "With format=raw all columns are metadata"),
            (Use.WRITE, {"format": "raw", "metadata.prefix": "_"}, r"With format=raw .* Choose columns with \.select"),
            (Use.BATCH, {"metadata.prefix": "_"}, r"The option metadata\.prefix needs the option metadata"),
            *(
                (use, {"format": "raw", name: value}, rf"The option {re.escape(name)} does not work with format=raw")
                for use, name, value in (
                    (Use.WRITE, "times", "integers"),
                    (Use.WRITE, "wrap", "true"),
                    (Use.SCHEMA, "columns", "ID INT"),
                    (Use.BATCH, "tombstones", "drop"),
                )
            ),
            *(
                (
                    use,
                    {"format": format_, name: value},
                    f"The option {name} needs a format with schemas: avro, json_sr,",
                )
                for format_ in ("raw", "json")
                for use, name, value in ((Use.WRITE, "register", "false"), (Use.BATCH, "policy", "by-id"))
            ),
            (Use.BATCH, {"includeHeaders": "true"}, "The option includeHeaders needs format=raw"),
            (
                Use.BATCH,
                {"policy": "dual-subject"},
                r"With policy=dual-subject, set subject\.first and subject\.second",
            ),
            (Use.BATCH, {"subject.first": "a"}, r".*subject\.second need policy=dual-subject"),
            (Use.BATCH, {"subject": "a"}, "The option subject needs policy=one-subject"),
            (Use.BATCH, {"kafka.group.id": "mine"}, r"The option kafka\.group\.id is not allowed"),
            (Use.BATCH, {"kafka.sasl.jaas.config": "x"}, r"sasl\.jaas\.config must begin with a login module"),
            (Use.BATCH, {"registry.basic.auth.user": "x"}, r"Unknown registry property basic\.auth\.user"),
            (Use.BATCH, {"path": "/x"}, r"Give either path, to read files, or bootstrap\.servers and topic"),
        ],
    )
    def test_what_makes_no_sense_is_refused_with_what_does(self, use: Use, given: dict[str, str], message: str) -> None:
        with pytest.raises(UsageError, match=rf"^{message}"):
            source_options(LEAST | given, use)

    @pytest.mark.parametrize(
        ("lacking", "message"),
        [
            ("topic", r'^No topic was named\. Give \.option\("topic", NAME\)\.$'),
            ("bootstrap.servers", r"^No Kafka cluster was named\. Give \.option"),
            ("registry", r"^No schema registry was named\. Give \.option"),
        ],
    )
    def test_what_is_lacking_is_named(self, lacking: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            source_options({name: value for name, value in LEAST.items() if name != lacking}, Use.BATCH)

    def test_a_stream_of_files_is_sent_to_sparks_own_source(self) -> None:
        with pytest.raises(UsageError, match=r"Files are read once, not as a stream\."):
            source_options({"path": "/x", "format": "raw"}, Use.STREAM)

    def test_a_secret_is_in_no_error(self) -> None:
        secrets = {"kafka.sasl.password": "hush", "registry.url": "http://me:hush@r", "nope": "hush"}
        with pytest.raises(UsageError) as caught:
            source_options(LEAST | secrets, Use.BATCH)
        assert "hush" not in str(caught.value)


def test_every_option_stands_in_the_documentation() -> None:
    said = set(re.findall(r"^\| `([\w.]+)`", source.__doc__ or "", re.MULTILINE))
    assert said == set(_OPTIONS)


class TestJavasOwn:
    """Java's own options of Kafka's clients: log-ins and stores are taken, and nothing of them is shown."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> str:
        content = jks("store-pass", trusted=der(CHAIN), keys=[(key_der(KEY), "store-pass", der(CHAIN))])
        (tmp_path / "store.jks").write_bytes(content)
        return str(tmp_path / "store.jks")

    def test_they_are_what_an_executor_takes_without_the_files(self, store: str) -> None:
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        jaas = f'{module} required username="ada" password="topsecret";'
        stores = {"kafka.ssl.truststore.location": store, "kafka.ssl.truststore.password": "store-pass"}
        found = source_options(LEAST | {"kafka.sasl.jaas.config": jaas} | stores, Use.BATCH)
        assert found.kafka["sasl.password"] == "topsecret"
        assert der(found.kafka["ssl.ca.pem"].encode()) == der(CHAIN)
        assert "topsecret" not in repr(found)

    def test_a_registrys_key_does_not_travel_and_pem_files_are_named(self, store: str) -> None:
        given = {"registry.ssl.keystore.location": store, "registry.ssl.keystore.password": "store-pass"}
        with pytest.raises(SecretError, match=r"give it as PEM files, registry\.ssl\.certificate\.location and"):
            registry_of(source_options(LEAST | {"registry": "https://r"} | given, Use.BATCH))
