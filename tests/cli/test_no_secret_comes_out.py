"""However a property, a file or a URL is misspelt: no part of the secret in it comes out, in an error, a trace or a report."""

from __future__ import annotations

import contextlib
import io
import os
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest.mock import patch
from urllib.parse import quote

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.cli.command_table import COMMANDS, CommandEntry
from srfix.cli.main import main
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.engine import CensusEngineChoice, engine_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.given import given_options
from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.errors import SrfixError
from srfix.serde.properties.kafka_java import to_java

MARKER = "Qzj7Wvk3Xpy9"
SECRET_NAMES = (
    "sasl.password", "ssl.key.password", "ssl.keystore.password", "sasl.jaas.config", "sasl.oauthbearer.client.secret",
    "basic.auth.user.info", "bearer.auth.token", "schema.registry.basic.auth.user.info", "SASL.PASSWORD", "sasl_password",
    "sasl.pasword", "ssl.truststore.password", "bearer.auth.client.secret", "",
)  # fmt: skip
OTHER_NAMES = ("sasl.mechanism", "security.protocol", "socket.timeout.ms", "enable.auto.commit", "debug", "bootstrap.servers",
               "url", "proxy", "client.id", "max.retries")  # fmt: skip
SEPARATORS = (
    " ",
    "\t",
    ":",
    "=",
    " = ",
    ": ",
    "==",
    ";",
    "\n",
    "\u00a0",
    "",
    ",",
    " =",
    "= ",
    ":=",
    "->",
    "\x0b",
    "\\\n",
)
noise = st.text(st.sampled_from("ab1 =:;,\t'\"{}[]@/\\-#%$&?.é\u202e"), max_size=6)
before = st.one_of(st.just(""), noise)


@st.composite
def properties(draw: st.DrawFn) -> str:
    """Text meant as a property, in which a secret stands where one may stand."""
    name, separator = draw(st.sampled_from(SECRET_NAMES)), draw(st.sampled_from(SEPARATORS))
    secret = f"{draw(before)}{MARKER}{draw(before)}"
    return draw(
        st.sampled_from(
            (
                f"{name}{separator}{secret}",
                f"{name}{separator}{secret}=",
                f"{name} {separator}{secret}==",
                f"{draw(st.sampled_from(OTHER_NAMES))}=x{separator}sasl.password={secret}",
                f"{draw(st.sampled_from(OTHER_NAMES))}=http://me:{MARKER}@host",
                f"{secret}{separator}{name}=x",
                f'sasl.jaas.config=org.Plain required username="me" password="{secret}";',
                f"-X{name}={secret}",
            )
        )
    )


@st.composite
def urls(draw: st.DrawFn) -> str:
    """Text meant as a URL with a user name and a password."""
    first, last = draw(before).replace("@", "").replace("/", ""), draw(before)
    secret = f"{first}{MARKER}{last}"  # behind an @ it would be the host, behind 1/ a path
    return draw(
        st.sampled_from(
            (
                f"http://me:{secret}@127.0.0.1:9",
                f"http://me:{quote(secret, safe='')}@127.0.0.1:9",
                f"http://me:{secret}",
                f"me:{secret}@127.0.0.1:9",
                f"http://me {secret}@127.0.0.1",
                f"http:/me:{secret}@127.0.0.1",
                f"http://me:1/{secret}@127.0.0.1:9",
                f"http://127.0.0.1:9?password={secret}",
                f"http://127.0.0.1:9#{secret}@x",
                f"http://[me:{secret}@127.0.0.1",
                f"http://127.0.0.1:9,http://me:{secret}@127.0.0.1:9",
            )
        )
    )


@pytest.fixture(scope="module", autouse=True)
def command() -> Iterator[None]:
    """A command that does with its options what may go wrong with them, and then dies of a bug."""

    @click.command()
    @connection_options
    @evidence_options
    @engine_options
    def plan(connection: Connection, evidence: EvidenceOptions, engine: CensusEngineChoice) -> None:
        click.echo(given_options().quoted("apply", "plan.json"))
        click.echo(repr((connection, evidence, engine)))
        try:
            kafka = {"bootstrap.servers": "127.0.0.1:9", **connection.kafka_config()}
            with contextlib.suppress(SrfixError):
                to_java(kafka)
            with contextlib.closing(Cluster(kafka)) as cluster:
                click.echo(repr(cluster))
        finally:
            with connection.registry_client() as client:
                click.echo(f"{client!r} {client.url}")
        evidence.read(application=None)
        raise RuntimeError(f"{connection.kafka!r} {dict(connection.kafka)} {connection.registry_urls!r}")

    module = types.ModuleType("tests.cli.leaking")
    module.plan = plan  # type: ignore[attr-defined]
    with (
        patch.dict("sys.modules", {"tests.cli.leaking": module}),
        patch.dict(COMMANDS, {"plan": CommandEntry("tests.cli.leaking:plan", "…")}),
    ):
        yield


def said(arguments: list[str], environment: Mapping[str, str] | None = None) -> tuple[int, str]:
    out, err = io.StringIO(), io.StringIO()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SRFIX_")}
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.dict(os.environ, {**kept, **(environment or {})}, clear=True),
    ):
        code = main(["plan", *arguments])
    return code, out.getvalue() + err.getvalue()


def leaks(text: str) -> list[str]:
    """Pieces of three characters of the marker that stand in a text."""
    return [MARKER[at : at + 3] for at in range(len(MARKER) - 2) if MARKER[at : at + 3].lower() in text.lower()]


TO = ["--bootstrap-servers", "127.0.0.1:9", "--registry", "http://127.0.0.1:9"]


class TestProperties:
    @given(text=properties(), option=st.sampled_from(("-X", "-R", "--kafka-property", "--spark-conf", "--source")))
    def test_as_an_option(self, text: str, option: str) -> None:
        code, words = said([*TO, option, text])
        assert (leaks(words), bool(words)) == ([], True), words
        assert code in (2, 70)

    @pytest.mark.slow
    @given(text=properties(), option=st.sampled_from(("-X", "-R", "--kafka-property=", "--registry-property=")))
    def test_glued_to_its_option(self, text: str, option: str) -> None:
        assert leaks(said([*TO, f"{option}{text}"])[1]) == []

    @given(
        text=properties().filter(lambda text: "\0" not in text),
        variable=st.sampled_from(("SRFIX_KAFKA_PROPERTIES", "SRFIX_REGISTRY_PROPERTIES", "SRFIX_SPARK_CONF")),
    )
    def test_in_the_environment(self, text: str, variable: str) -> None:
        assert leaks(said(TO, {variable: text})[1]) == []

    @pytest.mark.slow
    @given(text=properties())
    def test_in_a_file_of_properties(self, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        file = tmp_path_factory.getbasetemp() / "client.properties"
        file.write_text(f"client.id=x\n{text}\n", encoding="utf-8")
        assert leaks(said([*TO, "--kafka-config", str(file)])[1]) == []

    @pytest.mark.slow
    @given(
        text=properties(),
        table=st.sampled_from(("", "[kafka]", "[registry-client]", "[plan]")),
        quoting=st.sampled_from(("{}", '"{}" = 1', '"{}" = "x"', '"{}" = [1]', '"sasl.password" = "{}"', "'{}'")),
    )
    def test_in_a_toml_file(
        self, text: str, table: str, quoting: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        file = tmp_path_factory.getbasetemp() / "srfix.toml"
        file.write_text(f"{table}\n{quoting.format(text)}\n", encoding="utf-8")
        assert leaks(said([*TO, "--config", str(file)])[1]) == []


class TestUrls:
    @pytest.mark.slow
    @given(text=urls(), option=st.sampled_from(("--registry", "-Rproxy", "-Rurl", "--ksqldb", "--bootstrap-servers")))
    def test_as_an_option(self, text: str, option: str) -> None:
        words = [f"{option}={text}"] if option.startswith("-R") else [option, text]
        assert leaks(said([*TO, *words])[1]) == []

    @given(text=urls(), variable=st.sampled_from(("SRFIX_REGISTRY", "SRFIX_BOOTSTRAP_SERVERS")))
    def test_in_the_environment(self, text: str, variable: str) -> None:
        assert leaks(said([], {variable: text})[1]) == []

    @pytest.mark.slow
    @given(text=urls())
    def test_in_a_toml_file(self, text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
        file = tmp_path_factory.getbasetemp() / "urls.toml"
        file.write_text(f"registry = '''{text}'''\n", encoding="utf-8")
        assert leaks(said(["--config", str(file)])[1]) == []


def test_the_marker_is_found_where_it_is() -> None:
    assert leaks(f"…{MARKER[4:7]}…") == [MARKER[4:7]]


def test_a_value_that_is_no_secret_is_still_repeated(tmp_path: Path) -> None:
    _code, words = said([*TO, "-X", "security.protocol=PLAINTEXT", "-R", "max.retries=0"])
    assert "-X security.protocol=PLAINTEXT" in words
    assert "-R max.retries=0" in words
