"""The commands that srfix prints for a person to paste: quoted in one place, with the options that were given.

In a sentence a command stands between backquotes and is whole: it runs as it is printed. A sentence that only speaks of
a command names it without arguments (srfix rollback).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = ["Given", "GivenOption", "KNOWN_OPTIONS", "in_pieces", "positional", "srfix_command"]

_CONNECTION: Final = frozenset({"--bootstrap-servers", "-X", "--kafka-config", "--registry", "-R", "--config"})
_SELECTION: Final = frozenset({"--application", "--store", "--source", "--reader", "--streams-version", "--ignore"})
_EVIDENCE: Final = frozenset({"--state-dir", "--topology", "--ksqldb", "--ksqldb-user", "--ksqldb-text"})
_SIGN_OFF: Final = frozenset({"--expect-digest"})
_HURRY: Final = frozenset({"--deadline", "--max-records"})
_ENGINE: Final = frozenset({"--engine", "--master", "--spark-conf"})

KNOWN_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "diagnose": _CONNECTION | _SELECTION | _EVIDENCE | _HURRY | _ENGINE | {"--decode-values"},
    "plan": _CONNECTION
    | _SELECTION
    | _EVIDENCE
    | _HURRY
    | _ENGINE
    | {"--keep", "--only-live", "--all-versions", "--exact-ids", "--also"},
    "apply": _CONNECTION | _SIGN_OFF | {"--signature", "--signer-key"},
    # Without the limits of a hurry: what they leave unread is not verified.
    "verify": _CONNECTION | _EVIDENCE | _ENGINE | _SIGN_OFF,
    "rollback": _CONNECTION | _SIGN_OFF,
    "scan": _CONNECTION | _HURRY | _ENGINE | {"--application"},
    "decode": _CONNECTION,
    "subjects": _CONNECTION | {"--application"},
    "doctor": _CONNECTION | {"--application"},
}
"""Per command the options that are repeated from the command line that was given, as that spells them."""

_REPEATABLE: Final = frozenset(
    {
        "-X",
        "-R",
        "--source",
        "--ignore",
        "--also",
        "--state-dir",
        "--topology",
        "--ksqldb",
        "--ksqldb-text",
        "--spark-conf",
    }
)
_COMMAND: Final = re.compile(r"`(srfix(?: (?:[^`'\"]|'[^']*'|\"[^\"]*\")*)?)`")
"""A command as `srfix_command` quotes it, between backquotes; one in a name stands in quotes."""


def srfix_command(*arguments: str) -> str:
    """`srfix` with these arguments, as a POSIX shell takes it: a name with a space or a quote stays one argument."""
    return shlex.join(("srfix", *arguments))


def positional(name: str) -> tuple[str, ...]:
    """A name as the last argument; one that begins with a hyphen is no option."""
    return ("--", name) if name.startswith("-") else (name,)


def in_pieces(sentence: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a sentence in order, each with whether it is a command (then without its backquotes)."""
    end = 0
    for match in _COMMAND.finditer(sentence):
        if match.start() > end:
            yield sentence[end : match.start()], False
        yield match[1], True
        end = match.end()
    if end < len(sentence):
        yield sentence[end:], False


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenOption:
    """One option as a person gave it."""

    name: str
    """As the command line spells it: `--source`, `-X`."""
    value: str | None = None
    """None for a flag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a person gave on the command line, for the commands that are printed for them.

    Not what environment and configuration file gave: that holds for the next command too.
    """

    options: tuple[GivenOption, ...] = ()
    """The options to repeat, without those that hold a secret."""
    withheld: tuple[GivenOption, ...] = ()
    """The options that hold a secret in plain text, with nothing of it: the name of the property, or None."""

    def has(self, name: str) -> bool:
        """True if the option was given."""
        return any(option.name == name for option in self.options)

    def command(self, command: str, *arguments: str) -> str:
        """A command line that runs as it stands: what was given and this command knows, then these arguments.

        An option among the arguments takes the place of a given one, unless it may be repeated.
        """
        own = {word for word in arguments if word.startswith("-")} - _REPEATABLE
        known = KNOWN_OPTIONS.get(command, frozenset()) - own
        words: list[str] = []
        for option in self.options:
            if option.name in known and not _stands_in(option, arguments):
                words += [option.name] if option.value is None else [option.name, option.value]
        return srfix_command(command, *words, *arguments)

    def quoted(self, command: str, *arguments: str) -> str:
        """The command for a sentence: between backquotes, and with what has to be added to it by hand."""
        text = f"`{self.command(command, *arguments)}`"
        left_out = self.left_out(command)
        return f"{text} ({left_out})" if left_out else text

    def left_out(self, *commands: str) -> str:
        """What to add to these commands by hand, for srfix prints no secret; empty if nothing."""
        known: frozenset[str] = frozenset().union(*(KNOWN_OPTIONS.get(command, frozenset()) for command in commands))
        names = [
            option.name if option.value is None else f"{option.name} {option.value}=…"
            for option in self.withheld
            if option.name in known
        ]
        return f"give {', '.join(dict.fromkeys(names))} again: srfix prints no secret" if names else ""


def _stands_in(option: GivenOption, arguments: tuple[str, ...]) -> bool:
    return any(name == option.name and value == option.value for name, value in pairwise(arguments))
