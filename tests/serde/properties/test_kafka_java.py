"""librdkafka's properties under Java's names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.errors import SecretError, UsageError
from srfix.serde.properties.kafka_client import DECIDED_HERE
from srfix.serde.properties.kafka_java import to_java

SERVERS = {"bootstrap.servers": "kafka:9092"}
SASL = {"sasl.username": "ada", "sasl.password": "s3cret"}
PKCS8 = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"


def read_back(quoted: str) -> str:
    """What `java.io.StreamTokenizer` makes of a quoted string."""
    escapes = {"n": "\n", "r": "\r"}
    text, rest = "", iter(quoted[1:-1])
    for letter in rest:
        text += letter if letter != "\\" else escapes.get(escaped := next(rest), escaped)
    return text


class TestToJava:
    @pytest.mark.parametrize(
        ("name", "value", "java"),
        [
            ("security.protocol", "SASL_SSL", {"security.protocol": "SASL_SSL"}),
            ("client.id", "me", {"client.id": "me"}),
            ("metadata.broker.list", "a:1", {"bootstrap.servers": "a:1"}),
            ("socket.timeout.ms", "5000", {"request.timeout.ms": "5000"}),
            ("fetch.wait.max.ms", "50", {"fetch.max.wait.ms": "50"}),
            ("fetch.message.max.bytes", "9", {"max.partition.fetch.bytes": "9"}),
            ("socket.receive.buffer.bytes", "9", {"receive.buffer.bytes": "9"}),
            ("ssl.endpoint.identification.algorithm", "none", {"ssl.endpoint.identification.algorithm": ""}),
            ("ssl.endpoint.identification.algorithm", "https", {"ssl.endpoint.identification.algorithm": "https"}),
            ("ssl.ca.pem", "CERT", {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "CERT"}),
        ],
    )
    def test_what_means_the_same_goes_by_javas_name(self, name: str, value: str, java: dict[str, str]) -> None:
        assert to_java({name: value}) == java

    @pytest.mark.parametrize("name", sorted(DECIDED_HERE))
    def test_what_a_reader_decides_itself_is_left_out(self, name: str) -> None:
        assert to_java({**SERVERS, name: "x"}) == SERVERS

    @pytest.mark.parametrize(
        "name",
        ["queued.min.messages", "enable.ssl.certificate.verification", "sasl.oauthbearer.config", "ssl.cipher.suites"],
    )
    def test_what_java_lacks_is_refused_by_name_and_its_value_not_shown(self, name: str) -> None:
        with pytest.raises(UsageError, match=rf"^The Kafka property {name} belongs to librdkafka") as refused:
            to_java({name: "tiptop"})
        assert "tiptop" not in str(refused.value)

    def test_certificates_and_keys_travel_as_text(self, tmp_path: Path) -> None:
        (ca := tmp_path / "ca.pem").write_text("CA")
        (chain := tmp_path / "chain.pem").write_text("CHAIN")
        (key := tmp_path / "key.pem").write_text(PKCS8)
        files = {"ssl.ca.location": str(ca), "ssl.certificate.location": str(chain), "ssl.key.location": str(key)}
        assert to_java({**files, "ssl.key.password": "opens"}) == {
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": "CA",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": PKCS8,
            "ssl.key.password": "opens",
        }

    def test_a_certificate_without_its_key_is_refused(self) -> None:
        with pytest.raises(
            UsageError, match=r"^The Kafka property ssl\.certificate\.pem also needs ssl\.key\.location\.$"
        ):
            to_java({"ssl.certificate.pem": "CHAIN"})
        with pytest.raises(SecretError, match=r"ssl\.ca\.location cannot be used: No such"):
            to_java({"ssl.ca.location": "/no/such.pem"})

    def test_a_key_that_is_not_in_pkcs8_is_refused_and_not_shown(self) -> None:
        with pytest.raises(
            UsageError, match=r"^The key of ssl\.key\.pem is not in PKCS#8.*openssl pkcs8 -topk8"
        ) as refused:
            to_java({"ssl.certificate.pem": "CHAIN", "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----\nMII"})
        assert "MII" not in str(refused.value)


class TestSasl:
    @pytest.mark.parametrize(
        ("mechanism", "module"), [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")]
    )
    def test_name_and_password_become_a_login_module(self, mechanism: str, module: str) -> None:
        assert to_java({"sasl.mechanisms": mechanism, **SASL}) == {
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": (
                f'org.apache.kafka.common.security.{module} required username="ada" password="s3cret";'
            ),
        }

    @given(password=st.text(st.characters(min_codepoint=1, max_codepoint=0x2FF), max_size=12))
    def test_no_password_escapes_its_quotes(self, password: str) -> None:
        jaas = to_java({"sasl.mechanism": "PLAIN", "sasl.username": "ada", "sasl.password": password})[
            "sasl.jaas.config"
        ]
        assert read_back(jaas.partition(" password=")[2].removesuffix(";")) == password

    @pytest.mark.parametrize("mechanism", ["GSSAPI", "OAUTHBEARER"])
    def test_another_mechanism_is_refused(self, mechanism: str) -> None:
        with pytest.raises(UsageError, match=r"The Kafka property sasl\.mechanism") as no:
            to_java({"sasl.mechanism": mechanism, **SASL})
        assert "s3cret" not in str(no.value)

    def test_a_mechanism_without_a_password_is_refused(self) -> None:
        with pytest.raises(UsageError, match=r"^sasl\.mechanism=PLAIN needs the Kafka property sasl\.password, but"):
            to_java({"sasl.mechanism": "PLAIN", "sasl.username": "ada"})
        with pytest.raises(UsageError, match=r"sasl\.mechanism is missing"):
            to_java(SASL)
