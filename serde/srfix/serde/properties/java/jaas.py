r"""An entry of `sasl.jaas.config`, read as text as Kafka's `JaasConfig` reads it with Java's `StreamTokenizer`; never run.

    entry   = module flag { name "=" value } ";"
    comment = "/" … end of line | "/*" … "*/"

Words are letters, digits, `.`, `-`, `_`, `$` and what is not ASCII; one that begins with a digit, `-` or `.` is a number, which
Kafka takes for no value. Everything else stands in `"` or `'`, with `\n`, `\"`, `\\`, `\101`, … in it; a line's end ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from srfix.serde.casing import is_among
from srfix.serde.errors import UsageError

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL: Final = "01234567"
_LINE_ENDS: Final = "\n\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginModule:
    """One entry."""

    name: str
    """The Java class."""
    flag: str
    """required, requisite, sufficient or optional, in any letters."""
    options: Mapping[str, str] = field(repr=False)
    """Passwords are among them."""


class _Token(NamedTuple):
    text: str | None
    """A word's or a quoted text; None for a number and for a single character."""
    character: str = ""


def parse_jaas(text: str) -> LoginModule:
    """The one entry of a `sasl.jaas.config`."""
    tokens = _tokens(text)
    entries = [_entry(token, tokens) for token in tokens]
    if len(entries) != 1:
        raise UsageError(f"sasl.jaas.config holds {len(entries) or 'no'} login modules; Kafka's clients take one.")
    return entries[0]


def _entry(first: _Token, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, _Token(None)).text
    if first.text is None or flag is None or not is_among(flag, _FLAGS):
        raise UsageError(
            f"sasl.jaas.config begins with no login module and one of {', '.join(_FLAGS)}: "
            'MODULE required username="…" password="…";'
        )
    options: dict[str, str] = {}
    for count, token in enumerate(tokens, start=1):
        if token.character == ";":
            return LoginModule(name=first.text, flag=flag, options=options)
        equals, value = next(tokens, _Token(None)), next(tokens, _Token(None)).text
        if token.text is None or equals.character != "=" or value is None:
            raise UsageError(
                f'The option {count} of the login module in sasl.jaas.config is not NAME="VALUE". A value with other '
                'characters than letters, or that begins with a digit, stands in double quotes, with \\ before each " and \\; '
                "in a .properties file each \\ is written twice."
            )
        options[token.text] = value
    raise UsageError("The login module in sasl.jaas.config does not end in a semicolon.")


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text)
    while at < end:
        character = text[at]
        if character <= " ":
            at += 1
        elif character == "/":
            at = _after_comment(text, at)
        elif character in "\"'":
            quoted, at = _quoted(text, at + 1, character)
            yield _Token(quoted)
        elif (after := _after_number(text, at)) > at:
            yield _Token(None)
            at = after
        elif _begins_word(character):
            start = at
            while at < end and (_begins_word(text[at]) or text[at] in "0123456789."):
                at += 1
            yield _Token(text[start:at])
        else:
            yield _Token(None, character)
            at += 1


def _begins_word(character: str) -> bool:
    return character.isalpha() if character.isascii() and character not in "-_$" else not "\x80" <= character < "\xa0"


def _after_comment(text: str, at: int) -> int:
    if text.startswith("/*", at):
        closed = text.find("*/", at + 2)
        return len(text) if closed < 0 else closed + 2
    # What follows the first slash was read before Java knew that this is a comment: a line's end there ends nothing.
    return next((place for place in range(at + 2, len(text)) if text[place] in _LINE_ENDS), len(text))


def _after_number(text: str, at: int) -> int:
    """Where a number ends that begins here; `at` if none does. A minus alone is to Java no number, and no value either."""
    place, dots = at + text.startswith("-", at), 0
    if place >= len(text) or text[place] not in "0123456789.":
        return place
    while place < len(text) and (text[place] in "0123456789" or (text[place] == "." and not dots)):
        dots += text[place] == "."
        place += 1
    return place


def _quoted(text: str, at: int, quote: str) -> tuple[str, int]:
    """What stands within quotes, and where it goes on behind them."""
    characters: list[str] = []
    while at < len(text) and text[at] != quote and text[at] not in _LINE_ENDS:
        if text[at] != "\\":
            characters.append(text[at])
            at += 1
            continue
        at += 1
        if text[at : at + 1] and text[at] in _OCTAL:
            most = 3 if text[at] <= "3" else 2
            digits = next(n for n in range(most, 0, -1) if all(d in _OCTAL for d in text[at : at + n].ljust(n, "x")))
            characters.append(chr(int(text[at : at + digits], 8)))
            at += digits
        else:
            characters.append(_ESCAPES.get(text[at : at + 1], text[at : at + 1]))
            at += 1
    return "".join(characters), at + text.startswith(quote, at)
