"""The addresses of the cluster and the registry, and their clients, which are made when they are needed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srfix.serde.errors import UsageError
from srfix.serde.files import refuse_what_is_no_file
from srfix.serde.property_names import is_ipv6, names_servers

if TYPE_CHECKING:
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
                "--bootstrap-servers names a URL. A Kafka broker speaks no HTTP: give HOST:9092, and the registry's URL to "
                "--registry."
            )
        if any(not is_ipv6(address) for address in re.findall(r"\[([^\]]*)\]?", servers)):
            raise UsageError(
                "--bootstrap-servers has brackets without an IPv6 address in them (not shown, it may contain a "
                "password). Give HOST:9092, or [2001:db8::1]:9092. User and password are properties: -X "
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
