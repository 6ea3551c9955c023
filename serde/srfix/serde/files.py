"""Opens the files that a user names: regular ones of limited size; otherwise an `OSError` with the reason in its
`strerror`. Opening a FIFO would wait for a writer, and a device may never end.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, cast

from srfix.serde import bounds

_CHUNK: Final = 1 << 20
_KINDS: Final = {
    stat.S_IFIFO: "it is a named pipe, not a file; first write its content to a file, or pipe it to standard input if the "
    "option takes -",
    stat.S_IFSOCK: "it is a socket, not a file",
    stat.S_IFCHR: "it is a device, not a file",
    stat.S_IFBLK: "it is a device, not a file",
}
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)


def open_file(path: str | Path) -> BinaryIO:
    """Opens the regular file with this name for reading. It never waits, and opens only regular files."""
    # Anything except a regular file is not opened at all, because opening a device may have an effect.
    _refuse_special(_status(path))
    descriptor = os.open(path, _FLAGS)
    try:
        _refuse_special(os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_file(path: str | Path, *, most_bytes: int) -> bytes:
    """The content of the regular file with this name; `most_bytes` is from `srfix.serde.bounds`."""
    with open_file(path) as file:
        content = bytearray()
        # None: a kernel file, such as /proc/kmsg, that has no data now.
        while chunk := file.read(_CHUNK) or b"":
            content += chunk
            if len(content) > most_bytes:
                most = f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes >> 10} KiB"
                raise OSError(errno.EFBIG, f"it is longer than {most}, the limit for such a file")
        return bytes(content)


is_there: Final = os.path.lexists
"""Whether something has this name: also a link that leads nowhere."""


def refuse_what_is_no_file(path: str | Path) -> None:
    """Checks a file that a library will open, or that will be written: it must be a regular file or not exist."""
    with suppress(FileNotFoundError):
        _refuse_special(_status(path))


def write_whole(path: str | Path, content: bytes | Iterable[bytes]) -> None:
    """Writes a complete file or nothing (temporary file beside it, sync, rename). It follows a link."""
    refuse_what_is_no_file(path)
    target = os.path.realpath(path)
    # The temporary name does not contain the file's name, because a longer name might be too long.
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".srfix-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.writelines([content] if isinstance(content, bytes) else content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def sync(path: Path) -> None:
    """Waits until the disk has a file, or the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def parse_json(content: bytes | str) -> object:
    """A JSON document that other code can walk through and write again."""
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
