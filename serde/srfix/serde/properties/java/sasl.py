r"""`sasl.jaas.config` as librdkafka's properties.

| login module | librdkafka |
|---|---|
| `PlainLoginModule`, `ScramLoginModule` | `sasl.username`, `sasl.password` |
| `OAuthBearerLoginModule` with a token endpoint | `sasl.oauthbearer.method=oidc`, `….client.id`, `….client.secret`, … |
| the same with `unsecuredLoginStringClaim_sub` | `enable.sasl.oauthbearer.unsecure.jwt`, `sasl.oauthbearer.config` |
| any other | refused; the error says what to give instead |

Kafka's own callback handlers for OAUTHBEARER correspond to librdkafka's own login. A foreign handler is Java code,
which srfix does not run.

srfix parses the entry like Kafka's `JaasConfig` with Java's `StreamTokenizer`; it never runs it.

    entry   = module flag { name "=" value } ";"
    comment = "/" … end of line | "/*" … "*/"

Words consist of letters, digits, `.`, `-`, `_`, `$` and characters beyond ASCII. A word that begins with a digit, `-`
or `.` is a number, which Kafka does not accept as a value. Other text must stand in `"` or `'`, with the escapes `\n`,
`\"`, `\\`, `\101`, …; the end of the line ends it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from srfix.serde.casing import is_among, is_same
from srfix.serde.errors import UsageError
from srfix.serde.property_names import is_known

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ESCAPE: Final = re.compile(r"\\(?:(?P<octal>[0-3][0-7]{0,2}|[4-7][0-7]?)|(?P<other>.?))", re.DOTALL)
# Java has read the character after the first slash before it recognises a comment, so a line end there does not end the
# comment. For Java, a minus alone is neither a number that counts nor a value.
_TOKEN: Final = re.compile(
    r"""(?s)/\*.*?(?:\*/|\Z)|/.?[^\n\r]*"""
    r"""|(?P<quote>["'])(?P<quoted>(?:\\.?|(?!(?P=quote))[^\\\n\r])*+)(?:(?P=quote))?"""
    r"""|(?P<number>-?(?:[0-9]+\.?[0-9]*|\.[0-9]*)|-)"""
    r"""|(?P<word>(?:[A-Za-z0-9._$-]|[^\x00-\x9f])+)"""
    r"""|(?P<sign>[^\x00-\x20])"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginModule:
    """One entry."""

    name: str
    flag: str
    options: Mapping[str, str] = field(repr=False)
    """The options, which include passwords."""


class _Token(NamedTuple):
    text: str | None
    """The text of a word or of a quotation; None for a number and for a single character."""
    character: str = ""


def parse_jaas(text: str) -> LoginModule:
    """The only entry of a `sasl.jaas.config`."""
    tokens = _tokens(text)
    entries = [_entry(token, tokens) for token in tokens]
    if len(entries) != 1:
        raise UsageError(
            f"sasl.jaas.config has {len(entries) or 'no'} login modules; Kafka's clients accept exactly one."
        )
    return entries[0]


def _entry(first: _Token, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, _Token(None)).text
    if first.text is None or flag is None or not is_among(flag, _FLAGS):
        raise UsageError(
            f"sasl.jaas.config must begin with a login module and one of {', '.join(_FLAGS)}, for example: "
            'MODULE required username="…" password="…";'
        )
    options: dict[str, str] = {}
    for count, token in enumerate(tokens, start=1):
        if token.character == ";":
            return LoginModule(name=first.text, flag=flag, options=options)
        equals, value = next(tokens, _Token(None)), next(tokens, _Token(None)).text
        if token.text is None or equals.character != "=" or value is None:
            raise UsageError(
                f'Option {count} of the login module in sasl.jaas.config is not NAME="VALUE". Put a value '
                "in double quotes if it begins with a digit or has characters other than letters. Write \\ before each "
                '" and \\. In a .properties file, double each \\.'
            )
        options[token.text] = value
    raise UsageError("The login module in sasl.jaas.config does not end in a semicolon.")


def _tokens(text: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        match match.lastgroup:
            case "quoted":
                yield _Token(_ESCAPE.sub(_character, match["quoted"]))
            case "word":
                yield _Token(match["word"])
            case "number":
                yield _Token(None)
            case "sign":
                yield _Token(None, match["sign"])


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape["octal"], 8)) if escape["octal"] else _ESCAPES.get(escape["other"], escape["other"])


_KAFKA: Final = "org.apache.kafka.common.security."
_SHADED: Final = "kafkashaded."
"""The prefix of Kafka's class names in Databricks' build."""
_OTHERS: Final = (
    (
        re.compile(r".*Krb5LoginModule"),
        "It is Kerberos: give sasl.mechanism=GSSAPI, sasl.kerberos.principal and sasl.kerberos.keytab (librdkafka must be "
        "built with GSSAPI; the one on PyPI is not).",
    ),
    (
        re.compile(r".*IAMLoginModule"),
        "It signs with AWS's keys, which librdkafka cannot do. Use a SCRAM user of the cluster: sasl.mechanism=SCRAM-SHA-512, "
        "sasl.username, sasl.password.",
    ),
)
LOGIN_HANDLER: Final = "sasl.login.callback.handler.class"
_ENDPOINT: Final = "sasl.oauthbearer.token.endpoint.url"
_OWN_HANDLERS: Final = (
    f"{_KAFKA}oauthbearer.OAuthBearerLoginCallbackHandler",
    f"{_KAFKA}oauthbearer.secured.OAuthBearerLoginCallbackHandler",
)
_UNSECURED_HANDLER: Final = f"{_KAFKA}oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
_CLAIM: Final = "unsecuredLoginStringClaim_"
_OIDC: Final = {
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_UNSECURED: Final = {
    f"{_CLAIM}sub": "principal",
    "unsecuredLoginLifetimeSeconds": "lifeSeconds",
    "unsecuredLoginPrincipalClaimName": "principalClaimName",
    "unsecuredLoginScopeClaimName": "scopeClaimName",
    f"{_CLAIM}scope": "scope",
}
_EXTENSION: Final = "extension_"
_SASL_EXTENSION: Final = "unsecuredLoginExtension_"


def from_jaas(config: Mapping[str, str]) -> dict[str, str]:
    """The librdkafka properties for the `sasl.jaas.config` among these properties, and for its callback handler."""
    module = parse_jaas(config["sasl.jaas.config"])
    name = module.name.removeprefix(_SHADED).removeprefix(_KAFKA)
    mechanism = config.get("sasl.mechanism", config.get("sasl.mechanisms"))
    taken = _MODULES.get(name)
    if taken is None:
        advice = next((advice for pattern, advice in _OTHERS if pattern.fullmatch(module.name)), None)
        is_plain = re.fullmatch(r"(?:[a-z]\w*\.)+[A-Z]\w*Module", module.name, re.ASCII)
        class_name = module.name if is_plain else "a login module of another kind"
        raise UsageError(
            f"sasl.jaas.config names {class_name}, which is Java code that srfix does not run. "
            + (advice or f"It must name one of {', '.join(_KAFKA + module_name for module_name in _MODULES)}.")
        )
    fits, properties = taken
    if mechanism is not None and not is_among(mechanism, fits):
        raise UsageError(
            f"sasl.jaas.config names {name.rpartition('.')[2]}, which does not fit the sasl.mechanism that is given "
            f"with it. That module is for {' and '.join(fits)}."
        )
    return properties(module, config)


def _password(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    missing = [name for name in ("username", "password") if name not in module.options]
    if missing:
        raise UsageError(f"The login module in sasl.jaas.config has no option {' and no '.join(missing)}.")
    if is_same(module.options.get("tokenauth", ""), "true"):
        raise UsageError(
            "The login module in sasl.jaas.config has tokenauth=true, but librdkafka does not support delegation tokens. "
            "Give a user's sasl.username and sasl.password."
        )
    return {"sasl.username": module.options["username"], "sasl.password": module.options["password"]}


def _oauthbearer(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    handler = config.get(LOGIN_HANDLER, "").removeprefix(_SHADED)
    if handler not in ("", *_OWN_HANDLERS, _UNSECURED_HANDLER):
        raise UsageError(
            f"{LOGIN_HANDLER} names Java code, which srfix does not run. librdkafka fetches tokens by itself from an OpenID "
            f"endpoint: give {_ENDPOINT}, sasl.oauthbearer.client.id, sasl.oauthbearer.client.secret."
        )
    if handler in ("", _UNSECURED_HANDLER) and any(name.startswith(_CLAIM) for name in module.options):
        return _unsecured(module)
    return _oidc(module, config)


def _oidc(module: LoginModule, config: Mapping[str, str]) -> dict[str, str]:
    options = dict(module.options)
    taken = {"sasl.oauthbearer.method": "oidc"} | _renamed(options, _OIDC)
    extensions = _extensions(options, _EXTENSION)
    if extensions:
        taken["sasl.oauthbearer.extensions"] = ",".join(f"{name}={value}" for name, value in extensions.items())
    if _ENDPOINT not in config:
        raise UsageError(f"OAuthBearerLoginModule in sasl.jaas.config also needs {_ENDPOINT}, which is missing.")
    _refuse(options)
    return taken


def _unsecured(module: LoginModule) -> dict[str, str]:
    options = dict(module.options)
    settings = _renamed(options, _UNSECURED)
    settings |= {f"extension_{name}": value for name, value in _extensions(options, _SASL_EXTENSION).items()}
    _refuse(options)
    if any(not value or " " in value for value in settings.values()):
        raise UsageError(
            "An option of OAuthBearerLoginModule in sasl.jaas.config is empty or contains a blank; librdkafka accepts "
            "neither."
        )
    return {
        "enable.sasl.oauthbearer.unsecure.jwt": "true",
        "sasl.oauthbearer.config": " ".join(f"{name}={value}" for name, value in settings.items()),
    }


def _renamed(options: dict[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Removes and returns these options, by librdkafka's names."""
    return {name: options.pop(option) for option, name in names.items() if option in options}


def _extensions(options: dict[str, str], prefix: str) -> dict[str, str]:
    """Removes and returns the options with this prefix."""
    return {name.removeprefix(prefix): options.pop(name) for name in sorted(options) if name.startswith(prefix)}


def _refuse(options: Mapping[str, str]) -> None:
    if options:
        named = [name for name in sorted(options) if is_known(name)]
        raise UsageError(
            f"OAuthBearerLoginModule in sasl.jaas.config has {len(options)} options that librdkafka does not support"
            f"{': ' if named else ''}{', '.join(named)}. Leave them out; for the endpoint's CA give https.ca.location."
        )


_Taking = Callable[[LoginModule, Mapping[str, str]], dict[str, str]]
_MODULES: Final[Mapping[str, tuple[tuple[str, ...], _Taking]]] = {
    "plain.PlainLoginModule": (("PLAIN",), _password),
    "scram.ScramLoginModule": (("SCRAM-SHA-256", "SCRAM-SHA-512"), _password),
    "oauthbearer.OAuthBearerLoginModule": (("OAUTHBEARER",), _oauthbearer),
}
