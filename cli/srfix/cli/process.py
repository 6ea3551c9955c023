"""Interrupts and the three standard streams of the process. This module imports nothing slow."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

from srfix.cli.exit_codes import ExitCode

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_WHEN_CLOSED: Final = {_STDIN: os.O_RDONLY, _STDOUT: os.O_RDONLY, _STDERR: os.O_WRONLY}
"""The mode in which the null device replaces a closed stream. A write to a replaced stdout fails, and srfix says so."""


class StandardOutputError(OSError):
    """A write to standard output failed: it is closed, or its disk is full."""


class Interrupts:
    """The interrupts (Ctrl-C) so far. The first raises KeyboardInterrupt, the second ends the process at once."""

    def __init__(self) -> None:
        self._came = 0
        self._is_over = False

    def watch(self) -> None:
        """Handles interrupts from now on, unless they are ignored (a job in the background), or in a thread."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        ):
            return
        signal.signal(signal.SIGINT, self._arrived)
        sys.unraisablehook = self._lost

    def command_is_over(self) -> None:
        """From now on the first interrupt ends the process at once: there is nothing left to report or to clean up."""
        self._is_over = True

    def caused(self, error: BaseException) -> bool:
        """True if an error is an interrupt or follows one: interrupted compiled code raises a SystemError."""
        return self._came > 0 or _comes_from_an_interrupt(error, set())

    def _arrived(self, _signal: int, _frame: FrameType | None) -> None:
        self._came += 1
        if self._came > 1 or self._is_over:
            os._exit(ExitCode.INTERRUPTED)
        raise KeyboardInterrupt

    def _lost(self, unraisable: sys.UnraisableHookArgs) -> None:
        """Handles an interrupt that came where Python can raise nothing, for example in a finalizer."""
        if self._came and isinstance(unraisable.exc_value, KeyboardInterrupt):
            os._exit(ExitCode.INTERRUPTED)
        sys.__unraisablehook__(unraisable)


def _comes_from_an_interrupt(error: BaseException | None, seen_ids: set[int]) -> bool:
    if error is None or id(error) in seen_ids:
        return False
    seen_ids.add(id(error))
    if isinstance(error, KeyboardInterrupt):
        return True
    return any(_comes_from_an_interrupt(cause, seen_ids) for cause in (error.__cause__, error.__context__))


def take_over_streams() -> None:
    """Opens the standard streams that are closed: else the next opened file gets a stream's number and srfix's messages."""
    for number, flags in _WHEN_CLOSED.items():
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # open() takes the lowest free number, which is this one
    if sys.stdin is None:
        sys.stdin = open(_STDIN, closefd=False)  # noqa: SIM115  (the process's)
    sys.stdout = _text(_Output(_STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Words(_STDERR, "w", closefd=False), sys.stderr, line_buffering=True)


def silence(number: int) -> None:
    """Discards all that is written to a stream from now on; else the interpreter reports the error again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


class _Output(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StandardOutputError(error.errno, error.strerror) from None


class _Words(_Output):
    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except StandardOutputError:
            return memoryview(data).nbytes


def _text(raw: io.FileIO, before: TextIO | None, *, line_buffering: bool = False) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )
