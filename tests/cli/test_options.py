"""Shared options: which layer wins, what is translated, what is refused.

| layer | wins over |
|---|---|
| flag | environment, configuration file, default |
| `SRFIX_…` | configuration file, default |
| `--config` | default |
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from srfix.cli.command_classes import loaded
from srfix.cli.command_table import with_options
from srfix.cli.options.config_file import SHARED_KEYS, shared_key, table_keys
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import Selection, output_option, selection_options, yes_option
from srfix.cli.output.interface import OutputFormat
from srfix.serde import BasicAuth, RegistryClient, Secret, SecretError, Topic, UsageError
from srfix.serde.bounds import AnswerBounds, UnknownIdBounds


@click.command("diagnose")
@connection_options
@selection_options
@output_option
@yes_option
def probe(**values: Any) -> dict[str, Any]:
    """Hands back what it was handed."""
    return values


def ask(*arguments: str, **environment: str) -> dict[str, Any]:
    result = CliRunner().invoke(probe, arguments, env=environment, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert isinstance(result.return_value, dict)
    return result.return_value


def connect(*arguments: str, **environment: str) -> Connection:
    connection = ask(*arguments, **environment)["connection"]
    assert isinstance(connection, Connection)
    return connection


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "srfix.toml"
    path.write_text(
        'bootstrap-servers = "config:9092"\nregistry = ["http://config:8081", "http://config:8082"]\n'
        'application = "config"\nreader = "connect"\noutput = "json"\n'
        '[kafka]\n"client.id" = "config"\n"sasl.username" = "config"\n"socket.timeout.ms" = 100\n'
        '[registry-client]\n"http.read.timeout.ms" = 1000\n[source]\nusers-store = "users"\n[explain]\noutput = "markdown"\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.core
class TestPrecedence:
    def test_a_flag_wins_over_the_environment_and_that_over_the_file(self, config: Path) -> None:
        file = ("--config", str(config))
        assert connect(*file).kafka["bootstrap.servers"] == "config:9092"
        environment = {"SRFIX_BOOTSTRAP_SERVERS": "env:9092"}
        assert connect(*file, **environment).kafka["bootstrap.servers"] == "env:9092"
        flag = ("--bootstrap-servers", "flag:9092")
        assert connect(*file, *flag, **environment).kafka["bootstrap.servers"] == "flag:9092"

    def test_properties_of_all_layers_are_laid_on_each_other(self, config: Path) -> None:
        connection = connect(
            "--config",
            str(config),
            "-X",
            "client.id=flag",
            SRFIX_KAFKA_PROPERTIES="client.id=env\nsasl.username=env\nclient.rack=env rack",
        )
        assert connection.kafka == {
            "bootstrap.servers": "config:9092",
            "client.id": "flag",
            "client.rack": "env rack",
            "sasl.username": "env",
            "socket.timeout.ms": "100",
        }

    def test_a_properties_file_that_the_file_names_stands_below_the_files_own_tables(self, tmp_path: Path) -> None:
        (tmp_path / "client.properties").write_text("schema.registry.http.read.timeout.ms=5000\n", encoding="utf-8")
        config = tmp_path / "srfix.toml"
        named = f'registry = ["http://r"]\nkafka-config = "{tmp_path}/client.properties"\n'
        config.write_text(named + '[registry-client]\n"http.read.timeout.ms" = 1000\n', encoding="utf-8")
        assert connect("--config", str(config)).registry.read_timeout_s == 1

    def test_a_properties_file_stands_below_single_properties_of_its_layer(self, tmp_path: Path) -> None:
        file = tmp_path / "client.properties"
        file.write_text(
            "# a comment\n! another\nbootstrap.servers = file:9092\nsecurity.protocol: "
            "SASL_SSL\nclient.id=file\n"
            "request.timeout.ms=5000\nschema.registry.url=http://file:8081\nsasl.username=a\\\n  b\n",
            encoding="utf-8",
        )
        connection = connect(
            "--kafka-config", str(file), "-X", "client.id=flag", SRFIX_KAFKA_PROPERTIES="client.id=env"
        )
        assert connection.kafka == {
            "bootstrap.servers": "file:9092",
            "security.protocol": "SASL_SSL",
            "client.id": "flag",
            "socket.timeout.ms": "5000",
            "sasl.username": "ab",
        }
        assert connection.registry_urls == "http://file:8081"

    def test_a_java_spelling_on_top_replaces_librdkafkas_below(self, config: Path) -> None:
        connection = connect("--config", str(config), "-X", "request.timeout.ms=7")
        assert connection.kafka["socket.timeout.ms"] == "7"

    def test_registry_urls_have_one_value_however_they_are_spelt(self, config: Path) -> None:
        assert connect("--config", str(config)).registry_urls == "http://config:8081,http://config:8082"
        for flag in (
            ("-R", "schema.registry.url=http://flag"),
            ("-R", "url=http://flag"),
            ("--registry", "http://flag"),
        ):
            connection = connect("--config", str(config), *flag, SRFIX_REGISTRY="http://env")
            assert connection.registry_urls == "http://flag"

    def test_the_selection_follows_the_same_rule(self, config: Path) -> None:
        selection = ask("--config", str(config), "--store", "s", SRFIX_APPLICATION="env")["selection"]
        assert selection == Selection(
            application="env",
            store="s",
            sources={"users-store": Topic("users")},
            reader="connect",
            streams_version=None,
        )
        assert ask("--config", str(config))["output"] is OutputFormat.JSON
        assert ask("--config", str(config), "--output", "table")["output"] is OutputFormat.TABLE

    def test_the_configuration_file_may_come_from_the_environment(self, config: Path) -> None:
        assert connect(SRFIX_CONFIG=str(config)).kafka["client.id"] == "config"

    def test_defaults(self) -> None:
        values = ask()
        assert values["selection"] == Selection(
            application=None, store=None, sources={}, reader="unknown", streams_version=None
        )
        assert (values["output"], values["yes"]) == (OutputFormat.TABLE, False)
        assert values["connection"].kafka == {}


class TestKafkaProperties:
    @pytest.mark.parametrize(
        ("name", "advice"),
        [("sasl.login.callback.handler.class", "It names a Java class"), ("ssl.enabled.protocols", "Leave it out")],
    )
    def test_what_only_java_has_is_refused_by_name_with_what_to_use(self, name: str, advice: str) -> None:
        with pytest.raises(UsageError, match=rf"^The Kafka property {name} belongs to Java.*{advice}") as refusal:
            connect("-X", f"{name}=topsecret")
        assert "topsecret" not in refusal.value.message

    def test_what_means_the_same_is_translated_or_kept(self) -> None:
        connection = connect(
            "-X", "security.protocol=SASL_SSL", "-X", "sasl.mechanism=PLAIN", "-X", "send.buffer.bytes=1",
            "-X", "ssl.endpoint.identification.algorithm=", "-X", "sasl.password=a=b",
        )  # fmt: skip
        assert connection.kafka == {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "socket.send.buffer.bytes": "1",
            "ssl.endpoint.identification.algorithm": "none",
            "sasl.password": "a=b",
        }

    def test_a_jaas_entry_on_top_replaces_the_credentials_below_and_the_other_way_round(self, tmp_path: Path) -> None:
        file = tmp_path / "client.properties"
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        file.write_text(f'sasl.jaas.config={module} required username="u" password="p";\n', encoding="utf-8")
        below = "sasl.username=env\nsasl.password=env"
        assert connect("--kafka-config", str(file), SRFIX_KAFKA_PROPERTIES=below).kafka == {
            "sasl.username": "u",
            "sasl.password": "p",
        }
        assert connect("--kafka-config", str(file), "-X", "sasl.password=q").kafka == {
            "sasl.username": "u",
            "sasl.password": "q",
        }


class TestConnection:
    @pytest.mark.parametrize("servers", ["http://registry:8081", "broker:9092, HTTPS://registry"])
    def test_a_url_is_no_broker(self, servers: str) -> None:
        with pytest.raises(UsageError, match=r"^--bootstrap-servers names a URL, but a Kafka broker"):
            connect("--bootstrap-servers", servers).kafka_config()

    def test_secrets_are_read_when_the_configuration_is_made(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        file = tmp_path / "secret"
        file.write_text("from file\n", encoding="utf-8")
        connection = connect(
            "--bootstrap-servers", "h:1", "-X", "sasl.password=env:KP", "-X", f"ssl.key.password=file:{file}"
        )
        with pytest.raises(SecretError, match="KP"):
            connection.kafka_config()
        monkeypatch.setenv("KP", "from env")
        assert connection.kafka_config() == {
            "bootstrap.servers": "h:1",
            "sasl.password": "from env",
            "ssl.key.password": "from file",
        }

    def test_the_registry_client_shows_its_urls_without_credentials(self) -> None:
        with connect("--registry", "http://u:topsecret@h:8081").registry_client() as client:
            assert isinstance(client, RegistryClient)
            assert client.url == "http://h:8081"


class TestRegistryProperties:
    def test_confluents_names_become_the_clients_arguments(self, made: dict[str, Any]) -> None:
        connect(
            "--registry", "http://h", "-R", "basic.auth.credentials.source=USER_INFO",
            "-R", "schema.registry.basic.auth.user.info=u:p:q", "-R", "schema.registry.ssl.ca.location=/ca.pem",
            "-R", "http.connect.timeout.ms=1500", "-R", "schema.registry.http.read.timeout.ms=250", "-R", "max.retries=0",
            "-R", "http.answer.max.bytes=1000", "-R", "schema.registry.missing.id.cache.ttl.sec=7",
        ).registry_client()  # fmt: skip
        auth, retry = made.pop("auth"), made.pop("retry")
        assert isinstance(auth, BasicAuth)
        assert (auth.username, auth.password) == ("u", Secret("p:q"))
        assert retry.max_attempts == 1
        assert made == {
            "urls": "http://h",
            "ca_file": "/ca.pem",
            "ca_pem": None,
            "client_certificate": None,
            "proxy": None,
            "connect_timeout_s": 1.5,
            "read_timeout_s": 0.25,
            "bounds": AnswerBounds(body_bytes=1000),
            "unknown_ids": UnknownIdBounds(remember_s=7),
        }

    @pytest.mark.parametrize("given", ["u:env:RP", "env:UI"])
    def test_the_password_or_the_whole_may_be_a_reference(
        self, made: dict[str, Any], monkeypatch: pytest.MonkeyPatch, given: str
    ) -> None:
        monkeypatch.setenv("RP", "p")
        monkeypatch.setenv("UI", "u:p")
        connect("--registry", "http://h", "-R", f"basic.auth.user.info={given}").registry_client()
        assert (made["auth"].username, made["auth"].password.reveal()) == ("u", "p")

    def test_the_kafka_credentials_can_be_inherited(self, made: dict[str, Any]) -> None:
        source = ("--registry", "http://h", "-R", "basic.auth.credentials.source=SASL_INHERIT")
        connect(*source, "-X", "sasl.username=u", "-X", "sasl.password=p").registry_client()
        assert (made["auth"].username, made["auth"].password.reveal()) == ("u", "p")
        with pytest.raises(UsageError, match=r"SASL_INHERIT needs the Kafka property sasl\.username\.$"):
            connect(*source).registry_client()

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("ssl.truststore.location=x", r"^For the registry: The file 'x' of ssl\.truststore\.location cannot"),
            ("bearer.auth.scope=x", r"^The registry property bearer\.auth\.scope is not supported\."),
            ("proxy.host=x", r"^The registry property proxy\.host is not supported\."),
            ("nonsense=x", r"^Unknown registry property \(not shown, .*\)\. The known properties are: basic\.auth"),
            ("http.read.timeout.ms=soon", r"property http\.read\.timeout\.ms must be a whole number"),
            ("basic.auth.credentials.source=ELSEWHERE", r"must be one of USER_INFO, URL, SASL_INHERIT\.$"),
            ("basic.auth.credentials.source=USER_INFO", r"needs basic\.auth\.user\.info=USER:PASSWORD"),
        ],
    )
    def test_what_cannot_be_done_is_refused_by_name(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            connect("-R", text)


class TestConfigFile:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a = ", r"is not TOML: Invalid value \(at"),
            ("nonsense = 1", r"^srfix does not read the key in line 1 of the configuration file"),
            ("[kafka]\nsecurity.protocol = 'x'", r"'kafka\.security' .* with dots needs quotes"),
            ("kafka = 'x'", r"must be a table: \[kafka\]\.$"),
            ("plan = 'x'", r"must be a table: \[plan\]\.$"),
            (
                "[diagnose]\nstreams-verison = '2.6'",
                r"^srfix diagnose has no option for the key in line 2 \(did you mean streams-version\?\) of the table "
                r"\[diagnose\] of the configuration file .* The known keys are: bootstrap-servers, ",
            ),
            ("[plan]\nkep = 'auto'", r"^srfix plan has no option for the key in line 2 \(did you mean keep\?\) of"),
            ("[plan]\nconfig = 'x'", r"^srfix plan has no option for the key in line 2 of"),
            ("only-live = true", r"^srfix does not read the key in line 1 .*only-live belongs .*: \[plan\]\.$"),
            ("yes = true", r"a command that has it: \[diagnose\], \[apply\], \[rollback\]\.$"),
            ("qiet = true", r"\(did you mean quiet\?\) .* a command that has it: \[verify\]"),
            ("[verify]\nonly-live = true", r"only-live belongs in the table of a command that has it: \[plan\]\.$"),
            ("[explain]\nregistry = 'http://a:1'", r"registry belongs above all tables\.$"),
        ],
    )
    def test_what_cannot_be_used_is_refused_with_the_place(self, tmp_path: Path, text: str, message: str) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError, match=message):
            connect("--config", str(file))

    def test_all_that_cannot_be_used_is_told_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text(
            "qiet = true\ndeadline = 'soon'\n[kafka]\na = ['b']\n[source]\nusers = 1\n"
            "[verify]\nmax-record = 7\nquiet = 'no'\n[plann]\n",
            encoding="utf-8",
        )
        with pytest.raises(UsageError) as refused:
            connect("--config", str(file))
        first, *wrong = refused.value.message.split("\n- ")
        assert first == f"The configuration file {str(file)!r} has 7 entries that srfix cannot use:"
        for words, message in zip(
            ("line 1", "'deadline'", "line 10", "'kafka.", "'source.users'", "line 8", "'verify.quiet'"),
            wrong,
            strict=True,
        ):
            assert words in message

    @pytest.mark.parametrize(
        ("text", "name", "what"),
        [
            ("[verify]\nquiet = 'no'", "verify.quiet", "true or false, without quotes"),
            ("[decode]\nmax-records = true", "decode.max-records", "a whole number, without quotes"),
            ("max-records = 1e3", "max-records", "a whole number, without quotes"),
            ("max-records = '1_0'", "max-records", "a whole number, without quotes"),
            ("deadline = '30'", "deadline", "a number, without quotes"),
            ("streams-version = 2.10", "streams-version", 'text, in quotes: "…"'),
            ("application = ['a', 'b']", "application", 'text, in quotes: "…"'),
            ("[plan]\nout = ['p.json']", "plan.out", 'text, in quotes: "…"'),
            ("[source]\nusers-store = 5", "source.users-store", 'text, in quotes: "…"'),
            ("ignore = ['a', 1]", "ignore", 'text, in quotes: "…", or a list of such texts'),
            ("registry = [['http://a:1']]", "registry", 'text, in quotes: "…", or a list of such texts'),
        ],
    )
    def test_a_value_of_another_type_is_refused(self, tmp_path: Path, text: str, name: str, what: str) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text(text, encoding="utf-8")
        with pytest.raises(UsageError) as refused:
            connect("--config", str(file))
        assert refused.value.message == f"'{name}' in the configuration file '{file}' must be {what}."

    def test_a_shared_key_takes_what_the_option_takes_in_each_command(self) -> None:
        tables = {name: table_keys(loaded(entry)) for name, entry in with_options().items()}
        for key in SHARED_KEYS:
            taken = [keys[key] for keys in tables.values() if key in keys]
            assert taken == [shared_key(key)] * len(taken) != []

    def test_a_commands_table_takes_its_options_and_lists(self, tmp_path: Path) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text(
            "[diagnose]\nignore = ['a*', 'b*']\nyes = true\nregistry = ['http://a:1', 'http://b:2']\n"
            "[plan]\nout = 'p.json'\nalso = ['SRF001']\n",
            encoding="utf-8",
        )
        given = ask("--config", str(file))
        assert given["selection"].ignore == ("a*", "b*")
        assert given["yes"] is True
        assert given["connection"].registry_urls == "http://a:1,http://b:2"

    def test_a_bad_value_in_it_is_a_usage_error(self, tmp_path: Path) -> None:
        file = tmp_path / "srfix.toml"
        file.write_text("reader = 'telepathy'", encoding="utf-8")
        with pytest.raises(click.BadParameter):
            ask("--config", str(file))


class TestSources:
    @pytest.mark.parametrize("text", ["users", "=users", "store="])
    def test_a_source_is_a_store_and_a_topic(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"^--source takes STORE=TOPIC or APPLICATION/STORE=TOPIC, not "):
            ask("--source", text)

    def test_a_store_has_one_source(self) -> None:
        assert ask("--source", "s=a", "--source", "s=a", "--source", "t=b")["selection"].sources == {
            "s": "a",
            "t": "b",
        }
        with pytest.raises(UsageError, match=r"^--source names two topics for the store 's'"):
            ask("--source", "s=a", "--source", "s=b")
