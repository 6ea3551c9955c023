"""Requests to a registry, and answers that are bounded in size and time."""

from srfix.serde.registry.http.answer import Answer
from srfix.serde.registry.http.auth import NO_CREDENTIALS, Auth, BasicAuth, BearerAuth, Credentials
from srfix.serde.registry.http.bounded import AnswerBoundError, BoundedSession, check_json_parts, exchange
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.registry.http.session import RegistrySession
from srfix.serde.registry.http.tls import (
    ClientCertificate,
    ClientCertificateText,
    check_ca_file,
    check_ca_text,
    client_context,
)
from srfix.serde.registry.http.transport import Transport, TransportSettings
from srfix.serde.registry.http.urls import parse_proxy, parse_urls, path_of, without_user_info
