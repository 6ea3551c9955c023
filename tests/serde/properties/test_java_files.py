"""Java's properties files: their syntax, references, JAAS entries, whose each property is. (tests/stack asks Java.)"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import javaproperties
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import ClientFile, UsageError, read_client_file
from srfix.serde.properties.client_file import sorted_out
from srfix.serde.properties.java.file import read_properties_file
from srfix.serde.properties.java.sasl import parse_jaas
from srfix.serde.properties.kafka_client import ReadOnlyClient, laid_over, to_librdkafka
from srfix.serde.properties.kafka_java import _quoted, to_java
from srfix.serde.properties.registry import registry_settings

SECURITY = "org.apache.kafka.common.security."
PLAIN = f"{SECURITY}plain.PlainLoginModule"
SCRAM = f"{SECURITY}scram.ScramLoginModule"
OAUTH = f"{SECURITY}oauthbearer.OAuthBearerLoginModule"
names = st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def refused(properties: Mapping[str, str]) -> str:
    with pytest.raises(UsageError) as refusal:
        to_librdkafka(properties)
    assert "topsecret" not in refusal.value.message
    return refusal.value.message


class TestSyntax:
    def read(self, folder: Path, content: str | bytes) -> dict[str, str]:
        (folder / "x.properties").write_bytes(content.encode() if isinstance(content, str) else content)
        return dict(read_properties_file(str(folder / "x.properties")).values)

    @pytest.mark.parametrize(
        ("text", "properties"),
        [
            ("a=1\nb: 2\nc 3\nd\t=\t4\n", {"a": "1", "b": "2", "c": "3", "d": "4"}),
            ("# a=1\n! b=2\n  # c=3\n", {}),
            ("a=x \\\n    y\\\n\tz", {"a": "x yz"}),
            ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
            (r"a=\u00e4\t\n\q\=\:", {"a": "ä\t\nq=:"}),
            ("a=b=c:d", {"a": "b=c:d"}),
            ("a = trailing  ", {"a": "trailing  "}),
            ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
            ("a=1\na=2", {"a": "2"}),
            ("\ufeffa=1", {"a": "1"}),
            ("a=", {"a": ""}),
            ("ssl.endpoint.identification.algorithm", {"ssl.endpoint.identification.algorithm": ""}),
        ],
    )
    def test_is_javas(self, tmp_path: Path, text: str, properties: dict[str, str]) -> None:
        assert self.read(tmp_path, text) == properties

    def test_bytes_are_latin_1_as_in_a_java_stream(self, tmp_path: Path) -> None:
        """Seen: read as UTF-8, so that a log-in that works for the application was refused."""
        assert self.read(tmp_path, b"a=\xe4") == {"a": "\xe4"}
        assert self.read(tmp_path, b"a=\xc3\xa4") == {"a": "\xc3\xa4"}

    def test_what_looks_like_utf_8_is_named_and_not_shown(self, tmp_path: Path) -> None:
        path = tmp_path / "x.properties"
        path.write_bytes(
            b"# \xc3\xa4\nsasl.password=topsecret\xc3\xa4\nsasl.username=\xe4\nssl.key.password=\\u00c3\\u00a4\n"
            b"listener.name.x=\xc3\xa4\nbootstrap.servers=h:1\n"
        )
        found = read_client_file(str(path))
        assert found.in_utf_8 == ("sasl.password",)
        assert found.kafka["sasl.password"] == "topsecret\xc3\xa4"
        line = found.encoding_line() or ""
        assert line.startswith(f"{path}: srfix read these properties as ISO 8859-1")
        assert "look like UTF-8: sasl.password." in line
        path.write_bytes(b"bootstrap.servers=h:1\nsasl.password=\xe4\n")
        assert read_client_file(str(path)).encoding_line() is None

    def test_a_file_that_kafkas_provider_reads_is_utf_8(self, tmp_path: Path) -> None:
        named = tmp_path / "secrets.properties"
        properties = {
            "config.providers": "f",
            "config.providers.f.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
            "sasl.password": f"${{f:{named}:p}}",
        }
        named.write_bytes(b"p=\xc3\xa4")
        assert sorted_out("x", properties).kafka["sasl.password"] == "\xe4"
        named.write_bytes(b"p=topsecret\xe4")
        (problem,) = sorted_out("x", properties).problems
        assert "is not UTF-8, as Kafka's FileConfigProvider requires" in problem
        assert "topsecret" not in problem

    @given(properties=st.dictionaries(names, texts.filter(bool), max_size=4))
    def test_what_java_writes_is_read_back(
        self, tmp_path_factory: pytest.TempPathFactory, properties: dict[str, str]
    ) -> None:
        assert self.read(tmp_path_factory.getbasetemp(), javaproperties.dumps(properties)) == properties

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("a=1\\\n2\n\ntopsecret", "^Line 4 of the properties file '.*' is not key=value"),
            ('"topsecret"=1', "^Line 1 of"),
            (r"a=\utopsecret", r"^The properties file '.*' has a \\u without four hexadecimal digits after it\.$"),
            ("\xfe\xed\xfe\xed\0\0\0\2", "is not text"),
            ("a=\\\n" * 1_002, "^Line 1001 .* more than 1,000 lines"),  # read in quadratic time: minutes for 600 KiB
            ("a=b\\\n" + "x" * 70_000 + "\\\n", "^Line 2 .* 65,536 characters"),
        ],
    )
    def test_what_is_no_property_is_refused_and_not_shown(self, tmp_path: Path, text: str, why: str) -> None:
        with pytest.raises(UsageError, match=why) as refusal:
            self.read(tmp_path, text.encode("latin-1"))
        assert "topsecret" not in refusal.value.message
        assert refusal.value.__context__ is None


class TestJaas:
    @given(
        options=st.dictionaries(st.from_regex(r"[a-z]\w{0,6}", fullmatch=True).filter(str.isascii), texts, max_size=4)
    )
    def test_what_we_quote_is_read_back(self, options: dict[str, str]) -> None:
        entry = " ".join(f"{name}={_quoted(value)}" for name, value in options.items())
        module = parse_jaas(f"a.B required {entry};")
        assert (module.name, dict(module.options)) == ("a.B", options)
        assert "topsecret" not in repr(parse_jaas('a.B required password="topsecret";'))

    @given(text=st.text("aB1.=;\"'\\/*- \n\t\r€", max_size=30))
    def test_anything_else_is_a_sentence(self, text: str) -> None:
        try:
            parse_jaas(text)
        except UsageError as error:
            assert "sasl.jaas.config" in error.message  # noqa: PT017

    @pytest.mark.parametrize(
        ("entry", "why"),
        [
            ("", "has no login modules"),
            (f'{PLAIN} required password="topsecret"', "does not end in a semicolon"),
            (f"{PLAIN} required password=1topsecret;", "Option 1 of the login module"),
            (f'{PLAIN} password="topsecret";', "must begin with a login module and one of required"),
            (f'{PLAIN} required; {PLAIN} required password="topsecret";', "has 2 login modules"),
            (f'{PLAIN} required username="u";', "has no option password"),
            (f'{SCRAM} required username="u" password="topsecret" tokenauth="true";', "does not support delegation"),
            ("com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;", "give sasl.mechanism=GSSAPI"),
            ("software.amazon.msk.auth.iam.IAMLoginModule required;", "Use a SCRAM user"),
            ("topsecret required;", "names a login module of another kind"),
            (f"{OAUTH} required clientId='u' clientSecret='topsecret';", "also needs sasl.oauthbearer.token.endpoint.url"),
        ],
    )  # fmt: skip
    def test_what_librdkafka_cannot_do_is_told(self, entry: str, why: str) -> None:
        assert why in refused({"sasl.jaas.config": entry})

    @pytest.mark.parametrize(
        ("module", "mechanism"), [(PLAIN, "PLAIN"), (SCRAM, "SCRAM-SHA-512"), (f"kafkashaded.{PLAIN}", "PLAIN")]
    )
    def test_names_and_passwords(self, module: str, mechanism: str) -> None:
        entry = f'{module} required username="ada" password="a b;c";'
        assert to_librdkafka({"sasl.mechanism": mechanism, "sasl.jaas.config": entry}) == {
            "sasl.mechanism": mechanism,
            "sasl.username": "ada",
            "sasl.password": "a b;c",
        }

    def test_tokens_of_an_endpoint(self) -> None:
        given = {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": f"{SECURITY}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "sasl.jaas.config": f"{OAUTH} required clientId='me' clientSecret='s' scope='kafka' "
            "extension_logicalCluster='lkc-1' extension_identityPoolId='pool-1';",
        }
        assert to_librdkafka(given) == {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "sasl.oauthbearer.client.id": "me",
            "sasl.oauthbearer.client.secret": "s",
            "sasl.oauthbearer.scope": "kafka",
            "sasl.oauthbearer.extensions": "identityPoolId=pool-1,logicalCluster=lkc-1",
        }
        assert "names Java code" in refused(given | {"sasl.login.callback.handler.class": "com.example.Handler"})
        more = given["sasl.jaas.config"].replace(";", " ssl.truststore.password='topsecret';")
        assert "librdkafka does not support: ssl.truststore.password" in refused(given | {"sasl.jaas.config": more})


class TestNamesOfOneSetting:
    def test_librdkafkas_name_counts_in_any_order(self) -> None:
        for both in (
            {"socket.timeout.ms": "1", "request.timeout.ms": "2"},
            {"request.timeout.ms": "2", "socket.timeout.ms": "1"},
        ):
            assert to_librdkafka(both) == {"socket.timeout.ms": "1"}

    @pytest.mark.parametrize(
        ("below", "above"),
        [
            ({"socket.timeout.ms": "1", "request.timeout.ms": "2"}, {"request.timeout.ms": "3"}),
            ({"sasl.mechanism": "PLAIN"}, {"sasl.mechanisms": "SCRAM-SHA-256"}),
            ({"metadata.broker.list": "a:1"}, {"bootstrap.servers": "b:1"}),
        ],
    )
    def test_the_upper_set_wins_by_whatever_name(self, below: dict[str, str], above: dict[str, str]) -> None:
        assert to_librdkafka(laid_over(below, above)) == to_librdkafka(above)


class TestMechanism:
    @pytest.mark.parametrize("protocol", ["SASL_SSL", "sasl_plaintext"])
    def test_sasl_without_one_says_which_there_are(self, protocol: str) -> None:
        with pytest.raises(UsageError) as refusal:
            ReadOnlyClient({"bootstrap.servers": "h:1", "security.protocol": protocol})
        assert "sasl.mechanism is missing" in refusal.value.message
        ReadOnlyClient({"bootstrap.servers": "h:1", "security.protocol": protocol, "sasl.mechanism": "PLAIN"})


def file(**properties: str) -> ClientFile:
    return sorted_out("f", {name.replace("__", "."): value for name, value in properties.items()})


@pytest.mark.core
class TestSorting:
    def test_a_consumers_properties_win_over_those_of_all(self) -> None:
        found = sorted_out(
            "f",
            {
                "consumer.sasl.jaas.config": "consumer's",
                "sasl.jaas.config": "worker's",
                "producer.sasl.jaas.config": "producer's",
                "bootstrap.servers": "h:1",
                "consumer.max.poll.records": "1",
                "consumer.client.id": "x",
            },
        )
        assert found.kafka == {"sasl.jaas.config": "consumer's", "bootstrap.servers": "h:1"}
        assert "consumer's" not in repr(found)
        assert found.left_out == {"consumer.…": 2, "producer.…": 1}

    def test_ksql_streams_win_likewise_and_values_over_keys(self) -> None:
        fronts = ("ksql.streams.consumer.", "ksql.streams.", "")
        given = {f"{front}security.protocol": front or "none" for front in fronts}
        assert sorted_out("f", given).kafka == {"security.protocol": "ksql.streams.consumer."}
        converters = {f"{half}.converter.schema.registry.url": f"http://{half}" for half in ("value", "key")}
        assert sorted_out("f", converters).registry == {"url": "http://value"}

    def test_a_registrys_properties_are_found_behind_their_prefixes(self) -> None:
        for prefix in ("", "ksql.", "value.converter.", "key.converter."):
            given = {
                f"{prefix}schema.registry.url": "http://r",
                f"{prefix}basic.auth.credentials.source": "USER_INFO",
                f"{prefix}schema.registry.basic.auth.user.info": "a:b",
            }
            settings = registry_settings(sorted_out("f", given).registry)
            assert (settings.urls, settings.user_info) == ("http://r", "a:b")

    def test_ksqldb_asks_the_registry_with_its_own_trust_store(self) -> None:
        found = file(ksql__schema__registry__url="https://r", ssl__truststore__location="/t", ssl__keystore__type="JKS")
        assert found.registry == {
            "url": "https://r",
            "ssl.truststore.location": "/t",
            "ssl.keystore.type": "JKS",
        }
        assert file(schema__registry__url="https://r", ssl__truststore__location="/t").registry == {"url": "https://r"}

    def test_what_is_left_out_is_one_line_that_shows_no_unknown_name(self) -> None:
        found = file(
            key__deserializer="x", ssl__protocol="TLS", group__id="g", ksql__service__id="x", ksql__a="y", topsecret="z"
        )
        line = found.left_out_line()
        assert line is not None
        assert "left out 6 properties" in line
        assert "group.id, key.deserializer, ksql.… (2), ssl.protocol, the application's own" in line
        assert file(bootstrap__servers="h:1").left_out_line() is None

    @pytest.mark.parametrize(
        "name", ["sasl.mechansim", "boostrap.servers", "ssl.trustore.location", "schema.registy.url"]
    )
    def test_a_name_that_is_nearly_one_is_told(self, name: str) -> None:
        (problem,) = sorted_out("f", {name: "topsecret"}).problems
        assert "looks like a misspelt" in problem
        assert "topsecret" not in problem

    def test_a_registrys_property_that_cannot_be_taken_is_told(self) -> None:
        (problem,) = file(schema__registry__bearer__auth__client__secret="topsecret").problems
        assert "schema.registry.bearer.auth.client.secret is not supported." in problem

    @pytest.mark.parametrize("name", ["sasl.login.refresh.window.jitter", "ssl.client.auth", "sasl.enabled.mechanisms"])
    def test_what_sounds_like_one_and_is_javas_is_no_mistake(self, name: str) -> None:
        found = sorted_out("f", {name: "x"})
        assert (found.problems, sum(found.left_out.values())) == ((), 1)


class TestReferences:
    @pytest.fixture
    def given(self, tmp_path: Path) -> dict[str, str]:
        (tmp_path / "secrets.properties").write_text("kafka.password=from\\ file\n")
        (tmp_path / "password").write_text("from folder")
        package = "org.apache.kafka.common.config.provider."
        return {
            "config.providers": "file, dir,env,vault",
            "config.providers.file.class": f"{package}FileConfigProvider",
            "config.providers.dir.class": f"{package}DirectoryConfigProvider",
            "config.providers.env.class": f"{package}EnvVarConfigProvider",
            "config.providers.vault.class": "com.example.VaultProvider",
        }

    @pytest.mark.parametrize(
        ("reference", "value"),
        [
            ("${file:DIR/secrets.properties:kafka.password}", "from file"),
            ("${dir:DIR:password}", "from folder"),
            ("${env:PASSWORD}", "from environment"),
            ("<${env:PASSWORD}|${dir:DIR:password}>", "<from environment|from folder>"),
            ("$env:PASSWORD", "$env:PASSWORD"),
            ("${no}${env:PASSWORD}", "${no}from environment"),
            ("${" * 200_000, "${" * 200_000),
            ("${" + ":" * 400_000, "${" + ":" * 400_000),
        ],
    )
    def test_are_resolved_as_kafka_does(
        self, given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, value: str
    ) -> None:
        monkeypatch.setenv("PASSWORD", "from environment")
        found = sorted_out("f", given | {"sasl.password": reference.replace("DIR", str(tmp_path))})
        assert (found.kafka, found.problems) == ({"sasl.password": value}, ())
        assert f"sasl.password={value}" in found.texts

    @pytest.mark.parametrize(
        ("reference", "why"),
        [
            ("${other:a:b}", "${other:…} uses a provider that is not in config.providers"),
            ("${vault:a:b}", "${vault:…} uses a provider that srfix does not know"),
            ("${file:DIR/secrets.properties:topsecret}", "has no such property"),
            ("${file:/nowhere:a}", "The properties file '/nowhere' cannot be read"),
            ("${dir:/nowhere:a}", "the folder '/nowhere' does not provide it: No such file"),
            ("${env:TOPSECRET_UNSET}", "${env:…} names an environment variable that is not set here"),
        ],
    )
    def test_what_cannot_be_resolved_is_told(
        self, given: dict[str, str], tmp_path: Path, reference: str, why: str
    ) -> None:
        (problem,) = sorted_out("f", given | {"sasl.password": reference.replace("DIR", str(tmp_path))}).problems
        assert problem.startswith("f: The reference ${…} in the value of sasl.password cannot")
        assert why in problem
        assert "topsecret" not in problem.replace(reference, "")


def test_confluent_clouds_file_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "java.config").write_text(
        "# Required connection configs for Kafka producer, consumer, and admin\n"
        "bootstrap.servers=pkc-1.eu.confluent.cloud:9092\nsecurity.protocol=SASL_SSL\n"
        f"sasl.jaas.config={PLAIN} required username='KEY' password='a/b+c=';\nsasl.mechanism=PLAIN\n"
        "client.dns.lookup=use_all_dns_ips\nsession.timeout.ms=45000\nacks=all\nclient.id=ccloud-java-client-1\n"
        "schema.registry.url=https://psrc-1.eu.confluent.cloud\nbasic.auth.credentials.source=USER_INFO\n"
        "basic.auth.user.info=SR:b/c+d=\n"
    )
    found = read_client_file(str(tmp_path / "java.config"))
    assert (found.left_out, found.problems) == ({"acks": 1, "session.timeout.ms": 1}, ())
    assert to_librdkafka(found.kafka) == {
        "bootstrap.servers": "pkc-1.eu.confluent.cloud:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "KEY",
        "sasl.password": "a/b+c=",
        "client.dns.lookup": "use_all_dns_ips",
        "client.id": "ccloud-java-client-1",
    }
    assert registry_settings(found.registry).user_info == "SR:b/c+d="
    spark = to_java(to_librdkafka(found.kafka))
    assert spark["sasl.jaas.config"] == f'{PLAIN} required username="KEY" password="a/b+c=";'
