"""Keeps secrets out of what is printed, whatever went wrong.

Messages are built without secrets; this is the second line, for the texts of click, of libraries and of
tracebacks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote

from srfix.serde import bounds
from srfix.serde.files import read_file

__all__ = ["Redactor", "is_secret_property", "is_secret_text"]

_HIDDEN = "***"
_SECRET_NAME = re.compile(r"(?i)password|secret|user\.info|token|credential|\.pem|jaas|api\.?key")
_NO_SECRET_NAME = re.compile(r"(?i)credentials\.source$|token\.endpoint")
"""What only sounds like a secret's: its value is one of a few words, which messages name."""
_PROPERTY = re.compile(r"(?:-[XR]|--[a-z-]+=)?\s*([A-Za-z][\w.-]*)\s*[=:]\s*(.+)", re.DOTALL)
_USER_INFO = re.compile(r"(?<=//)[^/@\s'\"]+(?=@)")
_URL_PASSWORD = re.compile(r"//[^/@\s:]*:([^/@\s]+)@")
_REFERENCES = ("env:", "file:")
_SHORTEST = 4
"""A shorter secret would blacken half of every message."""


def is_secret_property(text: str) -> bool:
    """True if `key=value` shows a secret: by the key's name or by credentials in a URL, and not as a reference."""
    key, _, value = text.partition("=")
    if _USER_INFO.search(value):
        return True
    return bool(_SECRET_NAME.search(key)) and not _NO_SECRET_NAME.search(key) and is_secret_text(value.strip())


def is_secret_text(text: str) -> bool:
    """True if a secret, or `USER:` and one, is not a reference to where it is (`env:NAME`, `file:PATH`)."""
    _user, colon, password = text.partition(":")
    return not text.startswith(_REFERENCES) and not (bool(colon) and password.startswith(_REFERENCES))


class Redactor:
    """Remembers secrets, or where they are, and takes them out of a text."""

    def __init__(self) -> None:
        self._secrets: set[str] = set()

    def note(self, secret: str) -> None:
        """Remembers a secret, a reference to one (`env:NAME`, `file:PATH`), or `USER:` and either of them."""
        self._secrets.add(secret)
        user, colon, password = secret.partition(":")
        if colon and user not in {"env", "file"}:
            self._secrets.add(password)

    def note_properties(self, texts: Iterable[str]) -> None:
        """Remembers the value of each `key=value` whose key sounds like a secret's, and passwords in URLs."""
        for text in texts:
            for password in _URL_PASSWORD.findall(text):
                self.note(password)
                self.note(unquote(password))
            for line in text.splitlines():
                match = _PROPERTY.fullmatch(line)
                if match is not None and _SECRET_NAME.search(match[1]) and not _NO_SECRET_NAME.search(match[1]):
                    self.note(match[2].strip())

    def scrub(self, text: str) -> str:
        """The text without the secrets that are known, and without user names and passwords in URLs."""
        found = {value for secret in self._secrets for value in _values(secret) if len(value) >= _SHORTEST}
        for value in sorted(found, key=len, reverse=True):
            text = text.replace(value, _HIDDEN)
        return _USER_INFO.sub(_HIDDEN, text)


def _values(secret: str) -> tuple[str, ...]:
    """What a secret may look like; the reference itself is no secret."""
    if secret.startswith("env:"):
        return (os.environ.get(secret.removeprefix("env:"), ""),)
    if secret.startswith("file:"):
        try:
            content = read_file(secret.removeprefix("file:"), most_bytes=bounds.MOST_SECRET_BYTES)
            return (content.decode("utf-8").strip(),)
        except (OSError, UnicodeDecodeError):
            return ()
    return (secret,)
