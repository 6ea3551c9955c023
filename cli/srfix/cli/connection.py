"""Where the cluster and the registry are, and the clients for them, made when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srfix.cli.registry_properties import RegistrySettings
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.serde.registry import BasicAuth, RegistryClient

__all__ = ["Connection"]

_REFERENCES = ("env:", "file:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What the options say about the cluster and the registry. Its repr shows no secret."""

    kafka: Mapping[str, str] = field(repr=False)
    """Properties under librdkafka's names; a value may be `env:NAME` or `file:PATH`."""
    registry: RegistrySettings
    """How the registry is reached."""

    @property
    def registry_urls(self) -> str:
        """The registry's URLs, comma-joined. They may hold credentials: show `RegistryClient.url` instead.

        :raises UsageError: if no registry was named.
        """
        if not self.registry.urls:
            raise UsageError(
                "No schema registry was named. Give --registry http://HOST:8081, or SRFIX_REGISTRY, or "
                "`registry` in the --config file."
            )
        return self.registry.urls

    def kafka_config(self) -> dict[str, str]:
        """The configuration for a librdkafka client, secrets filled in.

        :raises UsageError: if no cluster was named.
        :raises SecretError: if a secret cannot be read.
        """
        if not self.kafka.get("bootstrap.servers"):
            raise UsageError(
                "No Kafka cluster was named. Give --bootstrap-servers HOST:9092, or "
                "SRFIX_BOOTSTRAP_SERVERS, or `bootstrap-servers` in the --config file."
            )
        return {name: _revealed(value) for name, value in self.kafka.items()}

    def registry_client(self) -> RegistryClient:
        """A client for the registry; close it after use. It sends nothing yet.

        :raises UsageError: if no registry was named, or the settings do not go together.
        :raises SecretError: if the user information is a reference that cannot be read.
        """
        from srfix.serde.registry import RegistryClient, RetryPolicy

        settings = self.registry
        retry = RetryPolicy() if settings.max_retries is None else RetryPolicy(max_attempts=settings.max_retries + 1)
        return RegistryClient(
            self.registry_urls,
            auth=self._basic_auth(),
            ca_file=settings.ca_file,
            connect_timeout_s=settings.connect_timeout_s,
            read_timeout_s=settings.read_timeout_s,
            retry=retry,
        )

    def _basic_auth(self) -> BasicAuth | None:
        from srfix.serde.registry import BasicAuth, Secret

        if self.registry.credentials_source == "SASL_INHERIT":
            try:
                username, password = self.kafka["sasl.username"], self.kafka["sasl.password"]
            except KeyError as missing:
                raise UsageError(
                    f"basic.auth.credentials.source=SASL_INHERIT needs the Kafka property {missing.args[0]}."
                ) from None
            return BasicAuth(_revealed(username), Secret.parse(password))
        if self.registry.user_info is None:
            return None
        return BasicAuth.parse(_revealed(self.registry.user_info))


def _revealed(value: str) -> str:
    if not value.startswith(_REFERENCES):
        return value
    from srfix.serde.registry import Secret

    return Secret.parse(value).reveal()
