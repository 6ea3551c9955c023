"""`--kafka-config` with a file of Java's: one line for what was left out, one error for the rest, no secret in either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trustme

from parts.guarded_registry import GuardedRegistry
from srfix.cli.redaction import Redactor, is_secret_property
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import srfix
from tests.serde.properties.java_stores import der, jks, key_der

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "tops3cret"
ISSUED = trustme.CA().issue_cert("me@example.com")
CHAIN = b"".join(blob.bytes() for blob in ISSUED.cert_chain_pems)
KEY = ISSUED.private_key_pem.bytes()


def file(folder: Path, text: str) -> str:
    (folder / "client.properties").write_text(text, encoding="utf-8")
    return str(folder / "client.properties")


def test_what_is_left_out_is_said_once_beside_the_report(tmp_path: Path) -> None:
    with FixtureRegistry() as registry:
        registry.seed("users-value", '"string"')
        path = file(
            tmp_path,
            f"ksql.schema.registry.url={registry.url}\nksql.service.id=x\nksql.a.b=y\nvalue.deserializer=x\nmy.{SECRET}=1\n",
        )
        done = srfix("schema", "A INT", "--kafka-config", path, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
    assert done.stderr.count("\n") == 1
    assert f"{path}: left out 4 properties" in done.stderr
    assert ": ksql.… (2), value.deserializer, the application's own.\n" in done.stderr


def test_a_trust_store_of_the_command_line_replaces_the_file_s_ca(tmp_path: Path) -> None:
    path = file(tmp_path, "schema.registry.url=https://localhost:1\nschema.registry.ssl.ca.location=/no/lower.pem\n")
    done = srfix("schema", "A INT", "--kafka-config", path, "-R", "ssl.truststore.location=/no/upper.jks")
    assert done.returncode == 2
    assert "'/no/upper.jks' of ssl.truststore.location" in done.stderr


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"sasl.jaas.config={PLAIN} required username=u password={SECRET};", True),
        (f"ssl.truststore.password={SECRET}", True),
        ("ssl.keystore.key=-----BEGIN PRIVATE KEY----- MIIE -----END PRIVATE KEY-----", True),
        ("ssl.keystore.password=env:STORE", False),
        ("ssl.truststore.location=/etc/trust.jks", False),
    ],
)
def test_a_printed_command_has_no_secret_of_javas(text: str, secret: bool) -> None:
    assert is_secret_property(text) == secret


def test_the_registry_may_inherit_the_credentials_of_a_jaas_entry(tmp_path: Path) -> None:
    with GuardedRegistry(basic_auth={"ada": SECRET}) as registry:
        path = file(
            tmp_path,
            f"sasl.jaas.config={PLAIN} required username=ada password={SECRET};\n"
            f"schema.registry.url={registry.url}\nbasic.auth.credentials.source=SASL_INHERIT\n",
        )
        done = srfix("schema", "A INT", "--subject", "users-value", "--kafka-config", path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_password_on_the_command_line_opens_the_files_store(tmp_path: Path) -> None:
    (tmp_path / "trust.jks").write_bytes(jks(SECRET, trusted=der(CHAIN)))
    path = file(tmp_path, f"ssl.truststore.location={tmp_path}/trust.jks\nbootstrap.servers=127.0.0.1:1\n")
    for password, code in (("env:STORE", 0), (f"{SECRET}x", 2)):
        done = srfix(
            *("schema", "A INT", "--kafka-config", path, "-X", f"ssl.truststore.password={password}"),
            env={"STORE": SECRET},
        )
        assert done.returncode == code, done.stderr
        assert SECRET not in done.stderr


class TestRedaction:
    def noted(self, text: str) -> Redactor:
        redactor = Redactor()
        redactor.note_text(text)
        return redactor

    def test_of_a_jaas_entry_the_values_go_and_the_rest_stays(self) -> None:
        redactor = self.noted(f'sasl.jaas.config={PLAIN} required username="ada" password="a \\"{SECRET}\\"";')
        said = f'sasl.jaas.config names {PLAIN} required username="ada", and then a "{SECRET}" or {SECRET}'
        assert redactor.scrub(said) == f'sasl.jaas.config names {PLAIN} required username="ada", and then *** or ***'

    @pytest.mark.parametrize("joined", ["\n", " "])
    def test_of_pem_the_keys_lines_go_and_certificates_stay(self, joined: str) -> None:
        key, certificate = KEY.decode().strip(), der(CHAIN)[0]
        redactor = self.noted("ssl.key.pem=" + joined.join(key.split("\n")))
        redactor.note_text(f"ssl.ca.pem={CHAIN.decode()}")
        scrubbed = redactor.scrub(f"{key}\n{CHAIN.decode()}")
        assert all(line not in scrubbed for line in key.splitlines()[1:-1])
        assert CHAIN.decode() in scrubbed
        assert certificate

    def test_what_a_store_held_is_not_shown_by_a_bug(self, tmp_path: Path) -> None:
        (tmp_path / "key.jks").write_bytes(jks(SECRET, keys=[(key_der(KEY), SECRET, der(CHAIN))]))
        path = file(
            tmp_path,
            f"bootstrap.servers=127.0.0.1:1\nsecurity.protocol=SSL\nssl.keystore.location={tmp_path}/key.jks\n"
            f"ssl.keystore.password={SECRET}\nsocket.timeout.ms=1000\n",
        )
        done = srfix("scan", "users", "--kafka-config", path, "--registry", "http://127.0.0.1:1", "-R", "max.retries=0")
        assert done.returncode == 2, done.stderr
        assert SECRET not in done.stderr
        assert "PRIVATE" not in done.stderr
