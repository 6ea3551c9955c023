"""Files that a person names, opened in one place: a regular file of a bounded size, or an error that says what it is.

A FIFO would make whoever opens it wait for a writer, a device may never end, a directory is no text. What is wrong is an
`OSError` whose `strerror` says it in words; callers put the file's role and their advice around it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, Final, cast

from srfix.serde import bounds

_CHUNK: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFIFO: "it is a named pipe, not a file; write what it gives to a file first, or pipe it in where - stands for "
    "standard input",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_file(path: str | Path) -> BinaryIO:
    """The regular file of this name, open for reading. Never waits, and opens nothing but files."""
    # What is no file is not opened at all: opening a device may do something.
    _refuse_special(_status(path))
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_special(os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: str | Path, *, most_bytes: int) -> bytes:
    """The content of the regular file of this name. `most_bytes` is the bound on its size, one of
    `srfix.serde.bounds`."""
    with open_file(path) as file:
        content = bytearray()
        # None: a file of the kernel's, such as /proc/kmsg, that has nothing to give now.
        while chunk := file.read(_CHUNK) or b"":
            content += chunk
            if len(content) > most_bytes:
                raise OSError(
                    errno.EFBIG, f"it is longer than {_in_words(most_bytes)}, the most that srfix reads of such a file"
                )
        return bytes(content)


def is_there(path: str | Path) -> bool:
    """True if anything has this name, a link to nothing too. False for a name that nothing can have."""
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def refuse_what_is_no_file(path: str | Path) -> None:
    """For a file that a library opens, or that is about to be written: nothing if it is a regular file or not there."""
    try:
        _refuse_special(_status(path))
    except FileNotFoundError:
        return


def write_whole(path: str | Path, content: bytes) -> None:
    """Writes a file whole or not at all (temporary file beside it, sync, rename); a link is followed."""
    refuse_what_is_no_file(path)
    target = os.path.realpath(path)
    # Not after the file's name: with more letters it might be too long.
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".srfix-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def parse_json(content: bytes | str) -> object:
    """A JSON document that can be walked through and written again."""
    try:
        document: object = json.loads(content)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    level: list[object] = [document]
    for _depth in range(bounds.DEEPEST_DOCUMENT):
        inner: list[object] = []
        for value in level:
            if isinstance(value, str):
                _refuse_surrogates(value)
            elif isinstance(value, list):
                inner.extend(cast("list[object]", value))
            elif isinstance(value, dict):
                for name, member in cast("Mapping[str, object]", value).items():
                    _refuse_surrogates(name)
                    inner.append(member)
        if not inner:
            return document
        level = inner
    raise ValueError(_TOO_DEEP)


_TOO_DEEP: Final = "it is nested too deeply"


def _refuse_surrogates(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError("a text in it holds half a surrogate pair") from None


def _status(path: str | Path) -> os.stat_result:
    try:
        return os.stat(path)
    except ValueError as error:  # a null character, or half a surrogate pair
        raise OSError(errno.EINVAL, "no file can have this name") from error


def _refuse_special(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, _KINDS.get(stat.S_IFMT(status.st_mode), "it is not a file"))


def _in_words(most_bytes: int) -> str:
    return f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes >> 10} KiB"
