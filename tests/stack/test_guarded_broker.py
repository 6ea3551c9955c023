"""A real broker behind TLS, passwords and client certificates: srfix takes librdkafka's properties for all of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from parts.guarded_broker.access import Tls
from parts.guarded_broker.broker import GuardedBroker
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import ClusterError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.spark.source.log import TopicLog
from tests.cli.kept_demo import srfix
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, R
from tests.recovery.world import value
from tests.stack.test_denied_by_acls import options

pytestmark = pytest.mark.stack

PASSWORD = "correct-horse"


def pkcs8(key: trustme.Blob) -> bytes:
    """Kafka reads private keys in no other form."""
    return load_pem_private_key(key.bytes(), None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate(ca: trustme.CA, folder: Path, name: str) -> tuple[Path, Path]:
    """The PEM files of a certificate with its chain, and of its key."""
    issued = ca.issue_cert(name, common_name=name)
    chain, key = folder / f"{name}.crt", folder / f"{name}.key"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(pkcs8(issued.private_key_pem))
    return chain, key


@pytest.mark.parametrize(("with_users", "mutual"), [(True, True), (True, False), (False, False)])
def test_the_incident_is_found_through_it_and_not_without_what_it_asks_for(
    tmp_path: Path, with_users: bool, mutual: bool
) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    chain, key = certificate(ca, tmp_path, "127.0.0.1")
    own_chain, own_key = certificate(ca, tmp_path, "operator.example.com")
    tls = Tls(
        certificate_chain=chain, key=key, ca=tmp_path / "ca.pem", client_ca=tmp_path / "ca.pem" if mutual else None
    )
    users = {"operator": PASSWORD} if with_users else {}
    with GuardedBroker(topics={"users": 1}, users=users, tls=tls) as broker, FixtureRegistry() as registry:
        registry.seed(SOURCE_SUBJECT, W1)
        registry.seed(PHANTOM, R)
        broker.produce([ProducedRecord(topic="users", partition=0, key=b"a", value=value(1))])
        broker.commit("shop", {("users", 0): 1})
        if with_users:
            broker.allow("operator", "TOPIC", "*", "READ", "DESCRIBE", "DESCRIBE_CONFIGS")
            broker.allow("operator", "GROUP", "*", "READ", "DESCRIBE")
        config = dict(broker.user_config("operator" if with_users else None))
        assert config["security.protocol"] == ("SASL_SSL" if with_users else "SSL")
        if mutual:
            config |= {"ssl.certificate.location": str(own_chain), "ssl.key.location": str(own_key)}

        found = srfix("diagnose", "--registry", registry.url, "--output", "json", *options(config))
        assert found.returncode == 1, found.stderr
        assert [f["code"] for f in json.loads(found.stdout)["findings"] if f["severity"] != "note"] == ["SRF001"]
        assert PASSWORD not in found.stdout + found.stderr

        without = {name: setting for name, setting in config.items() if name != "ssl.ca.location"}
        wrong = [without]  # a broker that nobody vouches for
        if mutual:
            wrong.append(
                {name: s for name, s in config.items() if name not in ("ssl.certificate.location", "ssl.key.location")}
            )
        if with_users:
            wrong.append(config | {"sasl.password": "wrong-horse"})
        for each in wrong:
            patience = {"socket.timeout.ms": "3000"}
            refused = srfix("diagnose", "--registry", registry.url, "--deadline", "5", *options(each | patience))
            assert refused.returncode == 2, refused.stdout
            assert refused.stdout == ""
            assert PASSWORD not in refused.stderr
            assert "wrong-horse" not in refused.stderr


def test_a_source_of_spark_does_not_wait_for_a_refused_log_in() -> None:
    """librdkafka would try again for 30 seconds."""
    with GuardedBroker(topics={"users": 1}, users={"operator": PASSWORD}) as broker:
        config = dict(broker.user_config("operator")) | {"sasl.password": "wrong-horse"}
        began = time.monotonic()
        with pytest.raises(
            ClusterError, match=r"^Authentication failed at .*; the request was not sent\. Check security"
        ):
            TopicLog(config, "users", Isolation.READ_COMMITTED).partitions()
        assert time.monotonic() - began < 15
