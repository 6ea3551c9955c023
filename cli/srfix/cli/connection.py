"""Where the cluster and the registry are, and the clients for them, made when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from srfix.cli.registry_properties import RegistrySettings
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.serde.registry import Auth, BasicAuth, ClientCertificate, RegistryClient, RetryPolicy

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
        :raises SecretError: if the user information, the proxy or the key's password is a reference that cannot be
            read.
        """
        from srfix.serde.registry import RegistryClient

        settings = self.registry
        return RegistryClient(
            self.registry_urls,
            auth=self._auth(),
            ca_file=settings.ca_file,
            client_certificate=self._client_certificate(),
            proxy=None if settings.proxy is None else _revealed(settings.proxy),
            connect_timeout_s=settings.connect_timeout_s,
            read_timeout_s=settings.read_timeout_s,
            retry=self._retry_policy(),
        )

    def _retry_policy(self) -> RetryPolicy:
        from srfix.serde.registry import RetryPolicy

        settings, default = self.registry, RetryPolicy()
        return RetryPolicy(
            max_attempts=default.max_attempts if settings.max_retries is None else settings.max_retries + 1,
            initial_wait_s=default.initial_wait_s if settings.retry_wait_s is None else settings.retry_wait_s,
            max_wait_s=default.max_wait_s if settings.retry_max_wait_s is None else settings.retry_max_wait_s,
        )

    def _client_certificate(self) -> ClientCertificate | None:
        from srfix.serde.registry import ClientCertificate, Secret

        settings = self.registry
        if settings.certificate_file is None:
            return None
        return ClientCertificate(
            certificate_file=settings.certificate_file,
            key_file=settings.key_file,
            key_password=None if settings.key_password is None else Secret.parse(settings.key_password),
        )

    def _auth(self) -> Auth | None:
        from srfix.serde.registry import BearerAuth, Secret

        settings = self.registry
        if settings.bearer_token is None:
            return self._basic_auth()
        return BearerAuth(
            Secret.parse(settings.bearer_token),
            logical_cluster=settings.logical_cluster,
            identity_pool=settings.identity_pool,
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
