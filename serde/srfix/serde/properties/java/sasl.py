"""`sasl.jaas.config` as librdkafka's properties.

| login module | librdkafka |
|---|---|
| `PlainLoginModule`, `ScramLoginModule` | `sasl.username`, `sasl.password` |
| `OAuthBearerLoginModule` with a token endpoint | `sasl.oauthbearer.method=oidc`, `….client.id`, `….client.secret`, … |
| the same with `unsecuredLoginStringClaim_sub` | `enable.sasl.oauthbearer.unsecure.jwt`, `sasl.oauthbearer.config` |
| every other | refused with what to give in its place |

The callback handlers that Kafka has for OAUTHBEARER are librdkafka's own way; a foreign one is Java code that nobody runs here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from srfix.serde.casing import is_among, is_same
from srfix.serde.errors import UsageError
from srfix.serde.properties.java.jaas import LoginModule, parse_jaas
from srfix.serde.property_names import is_known

_KAFKA: Final = "org.apache.kafka.common.security."
_SHADED: Final = "kafkashaded."
"""What stands before Kafka's own names in Databricks' build."""
_OTHERS: Final = (
    (
        re.compile(r".*Krb5LoginModule"),
        "It is Kerberos: give sasl.mechanism=GSSAPI, sasl.kerberos.principal and sasl.kerberos.keytab (librdkafka must be "
        "built with GSSAPI; that of PyPI is not).",
    ),
    (
        re.compile(r".*IAMLoginModule"),
        "It signs with AWS's keys, which librdkafka cannot. Use a SCRAM user of the cluster: sasl.mechanism=SCRAM-SHA-512, "
        "sasl.username, sasl.password.",
    ),
)
_CALLBACK: Final = "sasl.login.callback.handler.class"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_OWN_HANDLERS: Final = (
    f"{_KAFKA}oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{_KAFKA}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
_UNSECURED_HANDLER: Final = f"{_KAFKA}oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_CLAIM: Final = "unsecuredLoginStringClaim_"
_EXTENSION: Final = "extension_"
_SASL_EXTENSION: Final = "unsecuredLoginExtension_"


def from_jaas(config: Mapping[str, str]) -> dict[str, str]:
    """What the `sasl.jaas.config` among these properties says, and the callback handler beside it."""
    module = parse_jaas(config["sasl.jaas.config"])
    name = module.name.removeprefix(_SHADED).removeprefix(_KAFKA)
    mechanism = config.get("sasl.mechanism", config.get("sasl.mechanisms"))
    taken = _MODULES.get(name)
    if taken is None:
        advice = next((advice for pattern, advice in _OTHERS if pattern.fullmatch(module.name)), None)
        raise UsageError(
            f"sasl.jaas.config names {_class_name(module.name)}, which is Java code that srfix does not run. "
            + (advice or f"It takes {', '.join(_KAFKA + known for known in _MODULES)}.")
        )
    fits, properties = taken
    if mechanism is not None and not is_among(mechanism, fits):
        raise UsageError(
            f"sasl.jaas.config names {name.rpartition('.')[2]}, which is not for the sasl.mechanism that stands beside it. "
            f"It is for {' and '.join(fits)}."
        )
    return properties(module, config)


def _class_name(name: str) -> str:
    return name if re.fullmatch(r"(?:[a-z]\w*\.)+[A-Z]\w*Module", name, re.ASCII) else "a login module of another kind"


def _password(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in ("username", "password") if name not in module.options]
    if missing:
        raise UsageError(f"The login module in sasl.jaas.config has no option {' and no '.join(missing)}.")
    if is_same(module.options.get("tokenauth", ""), "true"):
        raise UsageError(
            "The login module in sasl.jaas.config has tokenauth=true: librdkafka knows no delegation tokens. Give a user's "
            "sasl.username and sasl.password."
        )
    return {"sasl.username": module.options["username"], "sasl.password": module.options["password"]}


def _oauthbearer(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    handler = config.get(_CALLBACK, "").removeprefix(_SHADED)
    if handler not in ("", *_OWN_HANDLERS, _UNSECURED_HANDLER):
        raise UsageError(
            f"{_CALLBACK} names Java code, which srfix does not run. librdkafka fetches tokens by itself from an OpenID "
            f"endpoint: {_ENDPOINT}, sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret."
        )
    if handler in ("", _UNSECURED_HANDLER) and any(name.startswith(_CLAIM) for name in module.options):
        return _unsecured(module)
    return _oidc(module, config)


def _oidc(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    options = dict(module.options)
    taken: dict[str, str] = {"sasl.oauthbearer.method": "oidc"}
    for option, name in (
        ("clientId", "sasl.oauthbearer.client.id"),
        ("clientSecret", "sasl.oauthbearer.client.secret"),
        ("scope", "sasl.oauthbearer.scope"),
    ):
        if option in options:
            taken[name] = options.pop(option)
    extensions = _extensions(options, _EXTENSION)
    if extensions:
        taken["sasl.oauthbearer.extensions"] = ",".join(f"{name}={value}" for name, value in extensions.items())
    if _ENDPOINT not in config:
        raise UsageError(f"OAuthBearerLoginModule in sasl.jaas.config takes {_ENDPOINT} beside it, which is missing.")
    _refuse(options)
    return taken


def _unsecured(module: LoginModule) -> dict[str, str]:
    options = dict(module.options)
    settings = {"principal": options.pop(f"{_CLAIM}sub", None)}
    for option, name in (
        ("unsecuredLoginLifetimeSeconds", "lifeSeconds"),
        ("unsecuredLoginPrincipalClaimName", "principalClaimName"),
        ("unsecuredLoginScopeClaimName", "scopeClaimName"),
        (f"{_CLAIM}scope", "scope"),
    ):
        settings[name] = options.pop(option, None)
    settings |= {f"extension_{name}": value for name, value in _extensions(options, _SASL_EXTENSION).items()}
    _refuse(options)
    set_values = {name: value for name, value in settings.items() if value is not None}
    if any(not value or " " in value for value in set_values.values()):
        raise UsageError(
            "The options of OAuthBearerLoginModule in sasl.jaas.config hold a blank, or nothing; librdkafka takes neither."
        )
    return {
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": " ".join(f"{name}={value}" for name, value in set_values.items()),
    }


def _extensions(options: dict[str, str], prefix: str) -> dict[str, str]:
    """Takes out the options that begin so."""
    return {name.removeprefix(prefix): options.pop(name) for name in sorted(options) if name.startswith(prefix)}


def _refuse(options: Mapping[str, str]) -> None:
    if options:
        named = [name for name in sorted(options) if is_known(name)]
        raise UsageError(
            f"OAuthBearerLoginModule in sasl.jaas.config has {len(options)} options that librdkafka has nothing for"
            f"{': ' if named else ''}{', '.join(named)}. Leave them out; for the endpoint's CA give https.ca.location."
        )


_Taking = Callable[[LoginModule, Mapping[str, str]], dict[str, str]]
_MODULES: Final[Mapping[str, tuple[tuple[str, ...], _Taking]]] = {
    "plain.PlainLoginModule": (("PLAIN",), _password),
    "scram.ScramLoginModule": (("SCRAM-SHA-256", "SCRAM-SHA-512"), _password),
    "oauthbearer.OAuthBearerLoginModule": (("OAUTHBEARER",), _oauthbearer),
}
