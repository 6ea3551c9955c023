"""The commands that srfix prints for a person to paste, with the options that the person gave. In a sentence a command
stands between backquotes and is complete. In place of a name that cannot be printed, or is too long, stands
`"${SRFIX_WORD_1:?…}"`, which stops the command until a person sets the variable: so a pasted command does the right
thing, or nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.serde import bounds
from srfix.serde.printable import COMMAND_IN_TEXT, is_printable

_CONNECTION: Final = frozenset({"--bootstrap-servers", "-X", "--kafka-config", "--registry", "-R", "--config"})
_SELECTION: Final = frozenset(
    {
        "--application",
        "--store",
        "--source",
        "--reader",
        "--streams-version",
        "--no-auto-register",
        "--ignore",
        "--isolation",
        "--gone",
    }
)
_EVIDENCE: Final = frozenset(
    {"--state-dir", "--topology", "--ksqldb", "--ksqldb-config", "--ksqldb-user", "--ksqldb-text"}
)
_SIGN_OFF: Final = frozenset({"--expect-digest"})
_HURRY: Final = frozenset({"--deadline", "--max-records"})
_ENGINE: Final = frozenset({"--engine", "--master", "--processes", "--spark-conf"})
_DIAGNOSIS: Final = _CONNECTION | _SELECTION | _EVIDENCE | _HURRY | _ENGINE
_TOPIC: Final = frozenset({"--role", "--subject", "--group", "--strategy", "--with-metadata", "--isolation"})

KNOWN_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "diagnose": _DIAGNOSIS | {"--changelogs", "--decode-values"},
    "plan": _DIAGNOSIS
    | {"--keep", "--only-live", "--all-versions", "--exact-ids", "--also", "--version-limit", "--topic"}
    | _TOPIC,
    "check": _CONNECTION | _HURRY | _ENGINE | _TOPIC | {"--reader"},
    "apply": _CONNECTION | _SIGN_OFF | {"--signature", "--signer-key", "--only"},
    "watch": _DIAGNOSIS | _SIGN_OFF | {"--allow", "--journals", "--signature", "--signer-key"},
    # Without --deadline and the like: records that they leave unread are not verified.
    "verify": _CONNECTION | _EVIDENCE | _ENGINE | _SIGN_OFF | {"--only", "--isolation"},
    "rollback": _CONNECTION | _SIGN_OFF,
    "scan": _CONNECTION | _HURRY | _ENGINE | {"--application", "--isolation"},
    "decode": _CONNECTION,
    "subjects": _CONNECTION | {"--application"},
    "doctor": _CONNECTION | {"--application"},
}
"""For each command, the options that srfix repeats from the person's command line, in the same spelling."""

_REPEATABLE: Final = frozenset(
    {
        "-X",
        "-R",
        "--source",
        "--ignore",
        "--gone",
        "--also",
        "--only",
        "--state-dir",
        "--topology",
        "--ksqldb",
        "--ksqldb-text",
        "--spark-conf",
        "--with-metadata",
    }
)
_OPTIONS_END: Final = "--"


def shell_words(*arguments: str) -> str:
    """Arguments as a POSIX shell takes them. Only this function quotes: every printed command comes from here."""
    words: list[str] = []
    number = 0
    for argument in arguments:
        why = _why_not_printed(argument)
        if why is None:
            words.append(shlex.quote(argument))
        else:
            number += 1
            words.append(f'"${{SRFIX_WORD_{number}:?set it first: {why}}}"')
    return " ".join(words)


def _why_not_printed(argument: str) -> str | None:
    """Words without any character that has a meaning in a shell."""
    if len(argument) > bounds.COMMAND_WORD:
        return f"an argument of {len(argument)} characters is too long to print"
    if not is_printable(argument.replace("\n", " ")):
        outline = re.sub(r"[^A-Za-z0-9._:/-]+", " ", argument)[:80].strip()  # to distinguish it from others
        return f"an argument has characters that cannot be printed ({outline or 'nothing printable'})"
    return None


def srfix_command(*arguments: str) -> str:
    return shell_words("srfix", *arguments)


def positional(name: str) -> tuple[str, ...]:
    """A name as the last argument; a leading hyphen does not make it an option."""
    return ("--", name) if name.startswith("-") else (name,)


def in_pieces(sentence: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a sentence in order, each with True if it is a command (which then has no backquotes)."""
    end = 0
    for match in COMMAND_IN_TEXT.finditer(sentence):
        if match.start() > end:
            yield sentence[end : match.start()], False
        yield match[1], True
        end = match.end()
    if end < len(sentence):
        yield sentence[end:], False


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOption:
    name: str
    """In the spelling of the command line: `--source`, `-X`."""
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The options given on the command line. Those of the environment and the file hold for the next command too."""

    options: tuple[GivenOption, ...] = ()
    withheld: tuple[GivenOption, ...] = ()
    """The options that hold a secret in plain text, without the secret: the value is the name of the property, or None."""

    def has(self, name: str) -> bool:
        return any(option.name == name for option in self.options)

    def without(self, name: str) -> CommandLine:
        """The same without one option, whose name has another meaning in the printed commands."""
        return CommandLine(
            options=tuple(option for option in self.options if option.name != name), withheld=self.withheld
        )

    def command(self, command: str, *arguments: str) -> str:
        """The given options that the command knows, then these arguments, which replace those not repeatable."""
        pairs = list(_options_among(arguments))
        own = {name for name, _value in pairs} - _REPEATABLE
        options = KNOWN_OPTIONS.get(command, frozenset()) - own
        words: list[str] = []
        for option in self.options:
            if option.name in options and (option.name, option.value) not in pairs:
                words += [option.name] if option.value is None else [option.name, option.value]
        return srfix_command(command, *words, *arguments)

    def quoted(self, command: str, *arguments: str) -> str:
        """The command for a sentence: between backquotes, and with a note on the options that must be added by hand."""
        text = f"`{self.command(command, *arguments)}`"
        left_out = self.left_out(command)
        return f"{text} ({left_out})" if left_out else text

    def plan_and_apply(self, *options: str, reads: str = "the plan") -> str:
        return f"{self.quoted('plan', *options, '-o', 'plan.json')}, read {reads}, then {self.quoted('apply', 'plan.json')}"

    def left_out(self, *commands: str) -> str:
        """What to add to these commands by hand, because srfix prints no secret; empty if nothing."""
        options: frozenset[str] = frozenset().union(*(KNOWN_OPTIONS.get(command, frozenset()) for command in commands))
        names = [
            option.name if option.value is None else f"{option.name} {option.value}=…"
            for option in self.withheld
            if option.name in options
        ]
        return f"give {', '.join(dict.fromkeys(names))} again: srfix prints no secret" if names else ""


def _options_among(arguments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The options among the arguments, each with its value; a value is no option, even if it begins with a hyphen."""
    words = iter(arguments)
    for word in words:
        if word == _OPTIONS_END:
            return
        if word.startswith("-"):
            yield word, next(words, "")
