"""Paths at which no file lies that one reads or writes."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def special(kind: str, directory: Path) -> Path:
    """A path of the kind, made in the directory; one that is not made where the kind needs nothing there."""
    path = directory / "it"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "socket":
            with socket.socket(socket.AF_UNIX) as unix:
                unix.bind(os.path.relpath(path))
        case "device":
            path = Path("/dev/zero")
        case "long name":
            path = directory / ("x" * 300)
        case "NUL":
            path = directory / "a\0b"
        case "no directory":
            path = directory / "nowhere" / "it"
        case "huge":
            with path.open("wb") as file:
                file.truncate(1 << 40)  # sparse
        case _:
            pass
    return path
