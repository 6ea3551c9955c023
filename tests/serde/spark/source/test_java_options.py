"""Java's own options of Kafka's clients in `format("srfix")`: log-ins and stores are taken, and nothing of them is shown."""

from __future__ import annotations

from pathlib import Path

import pytest
import trustme

from srfix.serde.errors import SecretError
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import source_options
from srfix.serde.spark.source.reads import registry_of
from tests.serde.properties.java_stores import der, jks, key_der

PASSWORD = "store-pass"
OWN = trustme.CA().issue_cert("me@example.com")
CHAIN = b"".join(blob.bytes() for blob in OWN.cert_chain_pems)
KEY = OWN.private_key_pem.bytes()
NEEDED = {
    "bootstrap.servers": "h:1",
    "subscribe": "users",
    "format": "avro",
    "registry": "https://r",
    "columns": "A INT",
}


@pytest.fixture
def store(tmp_path: Path) -> str:
    content = jks(PASSWORD, trusted=der(CHAIN), keys=[(key_der(KEY), PASSWORD, der(CHAIN))])
    (tmp_path / "store.jks").write_bytes(content)
    return str(tmp_path / "store.jks")


def test_they_are_what_an_executor_takes_without_the_files(store: str) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    options = source_options(
        {
            **NEEDED,
            "kafka.sasl.jaas.config": f'{module} required username="ada" password="topsecret";',
            "kafka.ssl.truststore.location": store,
            "kafka.ssl.truststore.password": PASSWORD,
        },
        Use.BATCH,
    )
    assert options.kafka["sasl.password"] == "topsecret"
    assert der(options.kafka["ssl.ca.pem"].encode()) == der(CHAIN)
    assert "topsecret" not in repr(options)


def test_a_registrys_key_does_not_travel_and_pem_files_are_named(store: str) -> None:
    given = {"registry.ssl.keystore.location": store, "registry.ssl.keystore.password": PASSWORD}
    with pytest.raises(SecretError, match=r"give it as PEM files, registry\.ssl\.certificate\.location and"):
        registry_of(source_options({**NEEDED, **given}, Use.BATCH))
