"""A session of requests, with what requests has no arguments for."""

from __future__ import annotations

import ssl
from typing import Any

from srfix.serde.registry.http.auth import NO_CREDENTIALS, BasicAuth, Credentials
from srfix.serde.registry.http.bounded import BoundedAdapter, BoundedSession
from srfix.serde.registry.http.tls import ClientCertificate, ClientCertificateText, client_context
from srfix.serde.registry.http.urls import Endpoint


class RegistrySession(BoundedSession):
    """Connections with a client certificate and through a proxy, and nothing from the environment."""

    def __init__(
        self,
        certificate: ClientCertificate | ClientCertificateText | None,
        proxy: Endpoint | None,
        ca_pem: str | None = None,
    ) -> None:
        """
        :param ca_pem: whom to trust, and nobody else; None if each request says it (`verify`).
        """
        super().__init__()
        self.proxy_credentials = NO_CREDENTIALS
        if proxy is not None and isinstance(proxy.auth, BasicAuth):
            self.proxy_credentials = proxy.auth.credentials(header="Proxy-Authorization")
        context = client_context(certificate) if certificate is not None else None
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter(context, self.proxy_credentials, ca_pem))


class _Adapter(BoundedAdapter):
    """Takes a TLS context (a key with a password) and a proxy's credentials that stand in no URL."""

    def __init__(self, context: ssl.SSLContext | None, proxy_credentials: Credentials, ca_pem: str | None) -> None:
        self._tls: dict[str, Any] = {} if context is None else {"ssl_context": context}
        self._has_ca_pem = ca_pem is not None
        if ca_pem is not None:
            self._tls["ca_cert_data"] = ca_pem
        self._proxy_credentials = proxy_credentials
        super().__init__()

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **pool, **self._tls)

    def proxy_manager_for(self, proxy: str, **pool: Any) -> Any:
        return super().proxy_manager_for(proxy, **pool, **self._tls)

    def build_connection_pool_key_attributes(self, request: Any, verify: Any, cert: Any = None) -> tuple[Any, Any]:
        host, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        if self._has_ca_pem:
            pool.pop("ca_certs", None)
            pool.pop("ca_cert_dir", None)
        return host, pool

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        super().cert_verify(conn, url, verify, cert)  # type: ignore[no-untyped-call]
        if self._has_ca_pem:
            conn.ca_certs = conn.ca_cert_dir = None  # certifi's would be trusted beside the text's

    def proxy_headers(self, proxy: str) -> dict[str, str]:
        return dict(self._proxy_credentials.headers)
