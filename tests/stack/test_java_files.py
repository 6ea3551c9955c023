"""Java's own configuration files, as they are, against a real broker with TLS that asks for certificates and log-ins.

Each file has the form of another application, its stores are written by Java's keytool, and its registry is behind TLS.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import pytest
import trustme
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from parts.guarded_broker.access import Tls
from parts.guarded_broker.broker import GuardedBroker
from parts.guarded_registry import GuardedRegistry
from srfix.fixtures.broker.client import ProducedRecord
from tests.cli.kept_demo import srfix
from tests.recovery.staging import SOURCE_SUBJECT, W1
from tests.recovery.world import value
from tests.stack.test_guarded_broker import certificate

pytestmark = pytest.mark.stack

PASSWORD: Final = 'correct "horse" \\ battery'
STORE_PASSWORD: Final = "store-pass"
KEY_PASSWORD: Final = "another-pass"
SECURITY: Final = "org.apache.kafka.common.security."
SERVER: Final = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
    **{
        f"listener.name.guarded.{mechanism}.sasl.jaas.config": f"{SECURITY}scram.ScramLoginModule required;"
        for mechanism in ("scram-sha-256", "scram-sha-512")
    },
    "listener.name.guarded.plain.sasl.jaas.config": f"{SECURITY}plain.PlainLoginModule required "
    'user_operator="correct \\\\"horse\\\\" \\\\\\\\ battery";',
    "listener.name.guarded.oauthbearer.sasl.jaas.config": f"{SECURITY}oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker";',
}


@dataclass(frozen=True, slots=True)
class Site:
    """What the files are for."""

    folder: Path
    servers: str
    registry: str

    def file(self, name: str, text: str) -> Path:
        text = text.replace("SERVERS", self.servers).replace("REGISTRY", self.registry).replace("DIR", str(self.folder))
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("java")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(folder / "ca.pem")
    chain, key = certificate(ca, folder, "127.0.0.1")
    own_chain, own_key = certificate(ca.create_child_ca(), folder, "operator.example.com")
    (folder / "client.pem").write_bytes(own_key.read_bytes() + own_chain.read_bytes())
    write_stores(folder, own_chain, own_key)
    tls = Tls(certificate_chain=chain, key=key, ca=folder / "ca.pem", client_ca=folder / "ca.pem")
    users = {"operator": "overridden"}
    with (
        GuardedBroker(topics={"users": 1}, users=users, tls=tls, properties=SERVER) as broker,
        GuardedRegistry(tls=(chain, key), client_ca=folder / "ca.pem", basic_auth={"ada": "registry-pass"}) as registry,
    ):
        registry.seed(SOURCE_SUBJECT, W1)
        broker.produce([ProducedRecord(topic="users", partition=0, key=b"a", value=value(1))])
        for user in ("operator", "tokens"):
            broker.allow(user, "TOPIC", "*", "READ", "DESCRIBE", "DESCRIBE_CONFIGS")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            credential = ScramCredentialInfo(mechanism, 4096)
            for done in admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion("operator", credential, PASSWORD.encode())]
            ).values():
                done.result(timeout=30)
        yield Site(folder, broker.user_config("operator")["bootstrap.servers"], registry.url)


def write_stores(folder: Path, chain: Path, key: Path) -> None:
    """Trust stores and key stores by keytool; the JKS key has a password of its own."""
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

    own, *others = x509.load_pem_x509_certificates(chain.read_bytes())
    store = pkcs12.serialize_key_and_certificates(
        b"operator",
        load_pem_private_key(key.read_bytes(), None),  # type: ignore[arg-type]
        own,
        others,
        BestAvailableEncryption(STORE_PASSWORD.encode()),
    )
    (folder / "made.p12").write_bytes(store)
    for kind, end, key_password in (("JKS", "jks", KEY_PASSWORD), ("PKCS12", "p12", STORE_PASSWORD)):
        trust, own_store = folder / f"trust.{end}", folder / f"key.{end}"
        keytool(
            *("-importcert", "-noprompt", "-alias", "ca", "-file", str(folder / "ca.pem")),
            *("-keystore", str(trust), "-storetype", kind, "-storepass", STORE_PASSWORD),
        )
        keytool(
            *("-importkeystore", "-srckeystore", str(folder / "made.p12"), "-srcstorepass", STORE_PASSWORD),
            *("-srcalias", "operator", "-destkeystore", str(own_store), "-deststoretype", kind),
            *("-deststorepass", STORE_PASSWORD, "-destkeypass", key_password),
        )


def keytool(*arguments: str) -> None:
    done = subprocess.run(["keytool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


CLIENT_JKS_PLAIN: Final = r"""
# a consumer's
bootstrap.servers=SERVERS
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
    username="operator" \
    password="correct \\"horse\\" \\\\ battery";
ssl.truststore.location=DIR/trust.jks
ssl.truststore.password=store-pass
ssl.keystore.location=DIR/key.jks
ssl.keystore.password=store-pass
ssl.key.password=another-pass
ssl.endpoint.identification.algorithm=
ssl.enabled.protocols=TLSv1.2,TLSv1.3
group.id=shop
enable.auto.commit=false
max.poll.records=100
key.deserializer=org.apache.kafka.common.serialization.StringDeserializer
value.deserializer=io.confluent.kafka.serializers.KafkaAvroDeserializer
schema.registry.url=REGISTRY
schema.registry.ssl.truststore.location=DIR/trust.jks
schema.registry.ssl.truststore.password=store-pass
schema.registry.ssl.keystore.location=DIR/key.jks
schema.registry.ssl.keystore.password=store-pass
schema.registry.ssl.key.password=another-pass
basic.auth.credentials.source=USER_INFO
basic.auth.user.info=ada:registry-pass
"""
KSQL_PKCS12_SCRAM_512: Final = r"""
listeners=http://0.0.0.0:8088
ksql.service.id=default_
ksql.streams.num.stream.threads=4
ksql.logging.processing.topic.auto.create=true
bootstrap.servers = SERVERS
security.protocol : SASL_SSL
sasl.mechanism SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="operator" password="correct \\"horse\\" \\\\ battery";
ssl.truststore.location=DIR/trust.p12
ssl.truststore.password=store-pass
ssl.truststore.type=PKCS12
ssl.keystore.location=DIR/key.p12
ssl.keystore.password=store-pass
ssl.keystore.type=PKCS12
ksql.schema.registry.url=REGISTRY
ksql.schema.registry.basic.auth.credentials.source=USER_INFO
ksql.schema.registry.basic.auth.user.info=ada:registry-pass
"""
CONNECT_PEM_SCRAM_256: Final = r"""
group.id=connect-cluster
key.converter=io.confluent.connect.avro.AvroConverter
value.converter=io.confluent.connect.avro.AvroConverter
value.converter.schema.registry.url=REGISTRY
value.converter.basic.auth.credentials.source=USER_INFO
value.converter.schema.registry.basic.auth.user.info=${file:DIR/secrets.properties:registry}
value.converter.schema.registry.ssl.truststore.type=PEM
value.converter.schema.registry.ssl.truststore.location=DIR/ca.pem
value.converter.schema.registry.ssl.keystore.type=PEM
value.converter.schema.registry.ssl.keystore.location=DIR/client.pem
offset.storage.topic=connect-offsets
offset.storage.replication.factor=1
config.storage.topic=connect-configs
status.storage.topic=connect-status
plugin.path=/usr/share/java
config.providers=file
config.providers.file.class=org.apache.kafka.common.config.provider.FileConfigProvider
bootstrap.servers=SERVERS
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="connect" password="not this one";
consumer.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="operator" password="${file:DIR/secrets.properties:in.jaas}";
producer.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="producer" password="nor this";
ssl.truststore.type=PEM
ssl.truststore.location=DIR/ca.pem
ssl.keystore.type=PEM
ssl.keystore.location=DIR/client.pem
"""
SECRETS: Final = r"""
registry=ada:registry-pass
in.jaas=correct \\"horse\\" \\\\ battery
"""
FILES: Final = {
    "client.properties": (CLIENT_JKS_PLAIN, 6),
    "ksql-server.properties": (KSQL_PKCS12_SCRAM_512, 4),
    "connect-distributed.properties": (CONNECT_PEM_SCRAM_256, 11),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_reaches_the_brokers_and_the_registry(site: Site, name: str) -> None:
    text, left_out = FILES[name]
    (site.folder / "secrets.properties").write_text(SECRETS)
    file = site.file(name, text)
    done = srfix("scan", "users", "--kafka-config", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"{file}: left out {left_out} properties") == 1
    subjects = srfix("subjects", "--kafka-config", str(file))
    assert subjects.returncode == 0, subjects.stderr
    assert "0 of 1 subject look internal." in subjects.stderr  # the registry answered
    said = done.stdout + done.stderr + subjects.stdout + subjects.stderr
    assert [word for word in ("horse", "store-pass", "another-pass", "registry-pass", "PRIVATE") if word in said] == []


def oauthbearer_with_inline_pem(site: Site) -> str:
    def line(path: Path) -> str:
        return " ".join(path.read_text().split("\n")).strip()

    return (
        "bootstrap.servers=SERVERS\nsecurity.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\n"
        f"sasl.jaas.config={SECURITY}oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub='tokens';\n"
        f"ssl.truststore.type=PEM\nssl.truststore.certificates={line(site.folder / 'ca.pem')}\n"
        f"ssl.keystore.type=PEM\nssl.keystore.key={line(site.folder / 'operator.example.com.key')}\n"
        f"ssl.keystore.certificate.chain={line(site.folder / 'operator.example.com.crt')}\n"
        "schema.registry.url=REGISTRY\nbasic.auth.user.info=ada:registry-pass\n"
        "schema.registry.ssl.truststore.location=DIR/trust.jks\n"
        "schema.registry.ssl.keystore.location=DIR/key.p12\nschema.registry.ssl.keystore.password=store-pass\n"
    )


def test_tokens_and_pem_on_one_line_do_too(site: Site) -> None:
    file = site.file("oauth.properties", oauthbearer_with_inline_pem(site))
    done = srfix("scan", "users", "--kafka-config", str(file))
    assert done.returncode == 0, done.stderr
    assert "PRIVATE" not in done.stdout + done.stderr


class TokenEndpoint(BaseHTTPRequestHandler):
    """Gives a token, unsigned as the broker of these tests takes it, to one client."""

    def do_POST(self) -> None:
        right = "Basic " + base64.b64encode(b"me:client-secret").decode()
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        ok = (
            self.headers["Authorization"] == right
            and "grant_type=client_credentials" in asked
            and "scope=kafka" in asked
        )
        now = int(time.time())
        claims = {"sub": "tokens", "iat": now, "exp": now + 600, "scope": "kafka"}
        token = ".".join([*(encoded(part) for part in ({"alg": "none", "typ": "JWT"}, claims)), ""])
        body = json.dumps({"access_token": token, "expires_in": 600} if ok else {"error": "invalid_client"}).encode()
        self.send_response(200 if ok else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def encoded(part: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


def test_tokens_of_an_endpoint_do_too(site: Site) -> None:
    with HTTPServer(("127.0.0.1", 0), TokenEndpoint) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        text = oauthbearer_with_inline_pem(site).replace(
            "unsecuredLoginStringClaim_sub='tokens'", "clientId='me' clientSecret='client-secret' scope='kafka'"
        )
        handler = f"{SECURITY}oauthbearer.secured.OAuthBearerLoginCallbackHandler"
        file = site.file(
            "oidc.properties",
            f"{text}sasl.login.callback.handler.class={handler}\n"
            f"sasl.oauthbearer.token.endpoint.url=http://127.0.0.1:{server.server_port}/token\n",
        )
        done = srfix("scan", "users", "--kafka-config", str(file))
        server.shutdown()
    assert done.returncode == 0, done.stderr
    assert "client-secret" not in done.stdout + done.stderr


def test_a_wrong_password_shows_neither(site: Site) -> None:
    text = KSQL_PKCS12_SCRAM_512.replace("battery", "staple")
    file = site.file("wrong.properties", text)
    done = srfix("scan", "users", "--kafka-config", str(file), "--deadline", "5", "-X", "socket.timeout.ms=3000")
    assert done.returncode == 2, done.stdout
    assert "horse" not in done.stderr
    assert "staple" not in done.stderr
