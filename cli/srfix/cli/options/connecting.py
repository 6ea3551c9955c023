"""The addresses of cluster and registry, with their clients, and the options for them: a flag wins over `SRFIX_…`,
which wins over `--config`. Within each, single properties win over a properties file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from srfix.cli.command_classes import loaded
from srfix.cli.command_table import with_options
from srfix.cli.options.config_file import ConfigFile, read_config, table_keys
from srfix.cli.options.given import CONFIG_PATH
from srfix.cli.options.values import handing_over, option, parse_property, repeatable
from srfix.cli.output.speaking import say_on_the_way
from srfix.cli.redaction import Redactor
from srfix.serde.errors import UsageError
from srfix.serde.files import refuse_what_is_no_file
from srfix.serde.property_names import is_ipv6, names_servers

if TYPE_CHECKING:
    from srfix.serde.properties.client_file import ClientFile
    from srfix.serde.properties.registry import RegistrySettings
    from srfix.serde.registry.client import RegistryClient


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What the options say about the cluster and the registry. Its repr shows no secret."""

    kafka: Mapping[str, str] = field(repr=False)
    """Properties under librdkafka's names; a value may be `env:NAME` or `file:PATH`."""
    registry: RegistrySettings

    @property
    def registry_urls(self) -> str:
        """The registry's URLs, joined with commas. They may hold credentials: show `RegistryClient.url` instead."""
        if not self.registry.urls:
            raise UsageError(
                "No schema registry was named. Give --registry http://HOST:8081, or SRFIX_REGISTRY, or "
                "`registry` in the --config file."
            )
        return self.registry.urls

    @property
    def cluster_shown(self) -> str | None:
        """The cluster for the title of a report; None if none was named."""
        return servers_shown(self.kafka.get("bootstrap.servers"))

    def kafka_config(self) -> dict[str, str]:
        """The configuration for a librdkafka client, with the values of secrets."""
        servers = self.kafka.get("bootstrap.servers")
        if not servers:
            raise UsageError(
                "No Kafka cluster was named. Give --bootstrap-servers HOST:9092, or SRFIX_BOOTSTRAP_SERVERS, or "
                "`bootstrap-servers` in the --config file."
            )
        if re.search(r"(?:^|,)\s*(?i:https?):", servers):
            raise UsageError(
                "--bootstrap-servers names a URL, but a Kafka broker speaks no HTTP. Give HOST:9092 here, and give the "
                "registry's URL to --registry."
            )
        if any(not is_ipv6(address) for address in re.findall(r"\[([^\]]*)\]?", servers)):
            raise UsageError(
                "--bootstrap-servers has brackets without an IPv6 address in them (not shown, because the text may contain "
                "a password). Give HOST:9092, or [2001:db8::1]:9092. User and password are properties: -X "
                "sasl.username=…"
            )
        from srfix.serde.registry.secret import revealed

        for name, value in self.kafka.items():
            if name.endswith(".location"):
                _refuse_what_librdkafka_would_wait_for(name, value)
        return {name: revealed(value) for name, value in self.kafka.items()}

    def registry_client(self) -> RegistryClient:
        """A client for the registry; close it after use. It sends nothing yet."""
        from srfix.serde.properties.registry import open_registry

        return open_registry(self.registry, self.registry_urls, kafka=self.kafka)


def servers_shown(servers: str | None) -> str | None:
    """The servers, if they may be shown; None if there are none, or if the text may contain a secret."""
    return servers if servers and names_servers(servers) else None


def _refuse_what_librdkafka_would_wait_for(name: str, path: str) -> None:
    try:
        refuse_what_is_no_file(path)
    except IsADirectoryError:
        return  # of certificates
    except OSError as error:
        raise UsageError(f"The file {path!r} of the Kafka property {name} cannot be used: {error.strerror}.") from error


_CONFIG = "srfix.cli.config"
_LAYERS = (ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT, ParameterSource.COMMANDLINE)
"""The layers, weakest first."""


def _use_config(ctx: click.Context, _param: click.Parameter, path: str | None) -> None:
    if path is None:
        return
    ctx.meta[CONFIG_PATH] = path
    group = ctx.parent
    outer = () if group is None or group.parent is None else (group.info_name or "",)
    running = "-".join((*outer, ctx.info_name or ""))  # the command's table in the file: scan, state-ls
    commands = with_options()

    config = read_config(
        path,
        command=running,
        commands=commands.keys(),
        keys_of=lambda name: table_keys(ctx.command if name == running else loaded(commands[name])),
    )
    ctx.default_map = {**(ctx.default_map or {}), **config.options}
    ctx.meta[_CONFIG] = config


config_option = option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_use_config,
    help="A TOML file with values for these options.",
)


_CLUSTER = (
    option("--bootstrap-servers", metavar="HOST:PORT[,…]", help="The Kafka cluster."),
    repeatable(
        "-X",
        "--kafka-property",
        "kafka_properties",
        envvar="KAFKA_PROPERTIES",
        metavar="KEY=VALUE",
        help=(
            "A Kafka client property, with librdkafka's or Java's name; repeatable. A value may be env:NAME or "
            "file:PATH."
        ),
    ),
    option(
        "--kafka-config",
        metavar="FILE",
        help=(
            "A properties file of a Java application, for cluster and registry: client.properties, "
            "ksql-server.properties, connect-distributed.properties, or Confluent Cloud's. srfix ignores the "
            "properties that a reader does not need, and names them in one line."
        ),
    ),
)
_REGISTRY = (
    option("--registry", metavar="URL[,URL]", help="The schema registry."),
    repeatable(
        "-R",
        "--registry-property",
        "registry_properties",
        envvar="REGISTRY_PROPERTIES",
        metavar="KEY=VALUE",
        help=(
            "A registry client property, with Confluent's name (basic.auth.user.info, ssl.ca.location, …); repeatable."
        ),
    ),
)


CONNECTION_PARAMETERS = ("bootstrap_servers", "kafka_properties", "kafka_config", "registry", "registry_properties")


def _connection(**values: Any) -> Connection:
    from srfix.serde.properties.client_file import read_client_file, settled
    from srfix.serde.properties.kafka_client import laid_over
    from srfix.serde.properties.registry import short_names

    ctx = click.get_current_context()
    config: ConfigFile = ctx.meta.get(_CONFIG) or ConfigFile()
    kafka: dict[str, str] = {}
    registry: dict[str, str] = {}
    files: list[ClientFile] = []
    for layer in _LAYERS:
        layer_values = {name: _value(ctx, name, values[name], layer) for name in CONNECTION_PARAMETERS}
        if layer_values["kafka_config"]:
            file = read_client_file(layer_values["kafka_config"])
            files.append(file)
            kafka = laid_over(kafka, file.kafka)
            registry = laid_over(registry, file.registry)
        if layer is ParameterSource.DEFAULT_MAP:
            kafka = laid_over(kafka, config.kafka)
            registry = laid_over(registry, short_names(config.registry))
        kafka = laid_over(kafka, _properties(layer_values["kafka_properties"], option="-X"))
        registry = laid_over(registry, short_names(_properties(layer_values["registry_properties"], option="-R")))
        if layer_values["bootstrap_servers"]:
            kafka["bootstrap.servers"] = layer_values["bootstrap_servers"]
        if layer_values["registry"]:
            registry["url"] = layer_values["registry"]
    given = [f"{name}={value}" for properties in (kafka, registry) for name, value in properties.items()]
    _note_secrets(ctx, [*given, *(text for file in files for text in file.texts)])
    taken, settings = settled(kafka, registry, [problem for file in files for problem in file.problems])
    _note_secrets(ctx, [f"{name}={value}" for name, value in taken.items()])
    if not ctx.params.get("quiet"):
        for line in filter(None, (line for file in files for line in (file.left_out_line(), file.encoding_line()))):
            say_on_the_way(line)
    return Connection(kafka=taken, registry=settings)


def _value(ctx: click.Context, name: str, winner: Any, layer: ParameterSource) -> Any:
    """What one layer gave: click hands over only the winning value, but properties of layers are merged."""
    source = ctx.get_parameter_source(name)
    if source is layer:
        return winner
    if layer is ParameterSource.ENVIRONMENT and source is ParameterSource.COMMANDLINE:
        param = next(param for param in ctx.command.params if param.name == name)
        if param.multiple:
            return param.value_from_envvar(ctx)
    return None


def _properties(texts: Iterable[str] | None, *, option: str) -> dict[str, str]:
    return dict(parse_property(text, option=option) for text in texts or () if text.strip())


def _note_secrets(ctx: click.Context, texts: Iterable[str]) -> None:
    redactor = ctx.find_object(Redactor)
    if redactor is not None:
        for text in texts:
            redactor.note_text(text)


connection_options = handing_over("connection", _connection, *_CLUSTER, *_REGISTRY, config_option)
"""No option is required here: the factories of `Connection` say what is missing."""
