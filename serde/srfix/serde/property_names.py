"""Decides which property names may be shown: only known ones. In `sasl.password SECRET=…` and `sasl.password: SECRET=…`
the text before the first `=` holds a secret, so instead of an unknown name a message suggests a similar known one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Final

from srfix.serde.hints import nearest

_LIBRDKAFKA: Final = """
    acks allow.auto.create.topics api.version.fallback.ms api.version.request api.version.request.timeout.ms
    auto.commit.enable auto.commit.interval.ms auto.offset.reset batch.num.messages batch.size bootstrap.servers
    broker.address.family broker.address.ttl broker.version.fallback check.crcs client.dns.lookup client.id
    client.rack client.software.name client.software.version compression.codec compression.level compression.type
    connections.max.idle.ms consume.callback.max.messages coordinator.query.interval.ms debug
    delivery.report.only.error delivery.timeout.ms enable.auto.commit enable.auto.offset.store
    enable.gapless.guarantee enable.idempotence enable.metrics.push enable.partition.eof enable.random.seed
    enable.sasl.oauthbearer.unsecure.jwt enable.sparse.connections enable.ssl.certificate.verification
    fetch.error.backoff.ms fetch.max.bytes fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms
    fetch.wait.max.ms group.id group.instance.id group.protocol group.protocol.type group.remote.assignor
    heartbeat.interval.ms https.ca.location https.ca.pem isolation.level linger.ms log.connection.close log.queue
    log.thread.name log_level max.in.flight max.in.flight.requests.per.connection max.partition.fetch.bytes
    max.poll.interval.ms max.poll.records message.copy.max.bytes message.send.max.retries message.timeout.ms
    metadata.broker.list metadata.max.age.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
    metadata.request.timeout.ms offset.store.method offset.store.path offset.store.sync.interval.ms
    partition.assignment.strategy partitioner plugin.library.paths produce.offset.report
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy receive.message.max.bytes
    reconnect.backoff.jitter.ms reconnect.backoff.max.ms reconnect.backoff.ms request.required.acks
    request.timeout.ms retries retry.backoff.max.ms retry.backoff.ms sasl.jaas.config sasl.kerberos.keytab
    sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.principal sasl.kerberos.service.name
    sasl.mechanism sasl.mechanisms sasl.oauthbearer.assertion.algorithm sasl.oauthbearer.assertion.claim.aud
    sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
    sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
    sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.jwt.template.file sasl.oauthbearer.assertion.private.key.file
    sasl.oauthbearer.assertion.private.key.passphrase sasl.oauthbearer.assertion.private.key.pem
    sasl.oauthbearer.client.credentials.client.id sasl.oauthbearer.client.credentials.client.secret
    sasl.oauthbearer.client.id sasl.oauthbearer.client.secret sasl.oauthbearer.config sasl.oauthbearer.extensions
    sasl.oauthbearer.grant.type sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method
    sasl.oauthbearer.scope sasl.oauthbearer.sub.claim.name sasl.oauthbearer.token.endpoint.url sasl.password
    sasl.username security.protocol session.timeout.ms share.acknowledgement.mode socket.blocking.max.ms
    socket.connection.setup.timeout.ms socket.keepalive.enable socket.max.fails socket.nagle.disable
    socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms ssl.ca.certificate.stores ssl.ca.location
    ssl.ca.pem ssl.certificate.location ssl.certificate.pem ssl.cipher.suites ssl.crl.location ssl.curves.list
    ssl.endpoint.identification.algorithm ssl.engine.id ssl.engine.location ssl.key.location ssl.key.password
    ssl.key.pem ssl.keystore.location ssl.keystore.password ssl.providers ssl.sigalgs.list ssl.truststore.location
    statistics.interval.ms sticky.partitioning.linger.ms test.mock.broker.rtt test.mock.num.brokers topic.blacklist
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt topic.metadata.refresh.fast.interval.ms
    topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse transaction.timeout.ms transactional.id
"""
"""CONFIGURATION.md of librdkafka."""
_JAVA: Final = """
    application.id auto.include.jmx.reporter buffer.memory cache.max.bytes.buffering commit.interval.ms
    config.providers default.api.timeout.ms default.key.serde default.value.serde exclude.internal.topics
    fetch.max.wait.ms interceptor.classes key.converter key.deserializer key.serializer listeners max.block.ms
    max.request.size max.task.idle.ms metric.reporters metrics.num.samples metrics.recording.level
    metrics.sample.window.ms num.standby.replicas num.stream.threads plugin.path processing.guarantee
    receive.buffer.bytes replication.factor request.timeout.ms sasl.client.callback.handler.class
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.callback.handler.class
    sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor sasl.login.refresh.window.jitter
    sasl.login.retry.backoff.max.ms sasl.login.retry.backoff.ms security.providers send.buffer.bytes
    socket.connection.setup.timeout.max.ms ssl.certificate.chain ssl.client.auth ssl.enabled.protocols
    ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm ssl.keystore.certificate.chain
    ssl.keystore.key ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.password ssl.truststore.type state.dir
    task.shutdown.graceful.timeout.ms tasks.max topology.optimization value.converter value.deserializer
    value.serializer
"""
"""The properties of Java's clients, Kafka Streams and Connect's workers that occur in files."""
_REGISTRY: Final = """
    auto.register.schemas basic.auth.credentials.source basic.auth.user.info bearer.auth.cache.expiry.buffer.seconds
    bearer.auth.client.id bearer.auth.client.secret bearer.auth.credentials.source bearer.auth.identity.pool.id
    bearer.auth.issuer.endpoint.url bearer.auth.logical.cluster bearer.auth.scope bearer.auth.scope.claim.name
    bearer.auth.sub.claim.name bearer.auth.token cache.capacity http.connect.timeout.ms http.proxy
    http.read.timeout.ms https.proxy max.retries proxy proxy.host proxy.port retries.max.wait.ms retries.wait.ms
    ssl.ca.location ssl.certificate.location ssl.key.location ssl.key.password ssl.keystore.location
    ssl.keystore.password ssl.keystore.type ssl.truststore.location ssl.truststore.password ssl.truststore.type
    timeout url use.latest.version
"""
"""The properties of Confluent's clients for the schema registry, for Java and Python."""
_OURS: Final = """
    http.answer.deadline.ms http.answer.max.bytes http.answer.max.head.bytes http.answer.max.parts
    http.listing.deadline.ms http.listing.max.pages missing.cache.size missing.id.cache.ttl.sec
"""
_LIBRDKAFKAS: Final = frozenset(_LIBRDKAFKA.split()) - {"sasl.jaas.config"}
_KNOWN: Final = frozenset(f"{_LIBRDKAFKA} {_JAVA} {_REGISTRY} {_OURS}".split())
_PREFIXES: Final = ("schema.registry.", "kafka.", "registry.")
_WORDS: Final = frozenset(word for name in _KNOWN for word in re.split(r"[._]", name)) | {
    "http", "https", "file", "true", "false", "required", "username", "PLAIN", "schema", "kafka", "org", "apache", "common",
    "org.apache.kafka.common.security.plain.PlainLoginModule", "PlainLoginModule", "plain", "ScramLoginModule", "scram",
    "org.apache.kafka.common.security.scram.ScramLoginModule", "OAuthBearerLoginModule",
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule", "clientId", "clientSecret",
}  # fmt: skip
"""Pieces of a text that are not secret by themselves."""

_NOT_PLAIN: Final = re.compile(r"(?i)[=@\n\r\t;{}]|passw|secret|token|jaas|credential|user\.info|api\.?key")
_SERVER: Final = re.compile(r"(?:\w+:/*)?(?:[\w.-]*|\[(?P<address>[\w:.%-]*)\])(?::\d+)?(?:/[\w./-]*)?")
NOT_SHOWN: Final = "(not shown, because it may be part of a secret)"
"""The replacement for a name or a value in a message."""


def is_known(name: str) -> bool:
    """True for a property of Kafka's or a registry's clients, also with one of the prefixes that mixed files use."""
    return name in _KNOWN or any(
        name.startswith(prefix) and name.removeprefix(prefix) in _KNOWN for prefix in _PREFIXES
    )


def is_librdkafkas(name: str) -> bool:
    return name in _LIBRDKAFKAS


def shown(name: str) -> str:
    """The name, if it is known or a known beginning; otherwise `NOT_SHOWN`, with a similar known name."""
    if is_known(name) or any(property_name.startswith(f"{name}.") for property_name in _KNOWN):
        return name
    near = nearest(name[:100], sorted(_KNOWN), cutoff=0.75)
    return f"{NOT_SHOWN[:-1]}; did you mean {near}?)" if near else NOT_SHOWN


def is_plain(value: str) -> bool:
    """True for a value without another property, a URL with a user name, and words that sound like a secret."""
    return _NOT_PLAIN.search(value) is None


def names_servers(text: str) -> bool:
    """True for a list of servers, which may be shown; `http://me:SECRET` is a password that lost its host."""
    return all(map(_names_server, text.split(",")))


def _names_server(text: str) -> bool:
    match = _SERVER.fullmatch(text.strip())
    return match is not None and (match["address"] is None or is_ipv6(match["address"]))


def is_ipv6(text: str) -> bool:
    """True for an IPv6 address, which may stand in brackets. But `[me:SECRET]` is a password that lost its host."""
    try:
        IPv6Address(text)
    except ValueError:
        return False
    return True


def pieces(text: str) -> Iterator[str]:
    """The text and its possible pieces, among which are all secrets in the text."""
    yield text.strip()
    for separators in (r"\s+", r"[\s=]+", r"[\s=:;,]+", r"""[\s=:;,"'@/&?{}()\[\]\\]+"""):
        for piece in re.split(separators, text):
            if piece not in _WORDS and not is_known(piece):
                yield piece
    for separator in "=:":
        yield text.partition(separator)[2].strip()
