"""What the process has of its own: interrupts, and the three standard streams. It imports nothing that takes time."""

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
"""How the null device stands in for a stream that is closed: what is written to such a standard output fails, and is said."""


class StandardOutputError(OSError):
    """Standard output does not take what is written to it: it is closed, or its disk is full."""


class Interrupts:
    """The interrupts (Ctrl-C) that have come. The first is a KeyboardInterrupt, the second ends the process at once."""

    def __init__(self) -> None:
        self._came = 0
        self._is_over = False

    def watch(self) -> None:
        """Looks out for them from now on; not where they are ignored (a job in the background), nor in a thread."""
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        ):
            return
        signal.signal(signal.SIGINT, self._arrived)
        sys.unraisablehook = self._lost

    def command_is_over(self) -> None:
        """From now on the first ends the process at once: there is nobody left to tell, and nothing to clear away."""
        self._is_over = True

    def caused(self, error: BaseException) -> bool:
        """True if an error is an interrupt, comes from one, or comes after one.

        Compiled code that is interrupted ends in a SystemError, or in what it takes a missing answer for.
        """
        return self._came > 0 or _comes_from_an_interrupt(error, set())

    def _arrived(self, _signal: int, _frame: FrameType | None) -> None:
        self._came += 1
        if self._came > 1 or self._is_over:
            os._exit(ExitCode.INTERRUPTED)
        raise KeyboardInterrupt

    def _lost(self, unraisable: sys.UnraisableHookArgs) -> None:
        """An interrupt that came where nothing can be raised, while an object was cleared away, say."""
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
    """Has a stream at each of the three numbers: of one that is closed a file opened later would get the number, and
    everything that is said. What standard error does not take is lost, and no reason to fail; a character that a terminal
    cannot show is shown as its escape."""
    for number, flags in _WHEN_CLOSED.items():
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free: this one
    if sys.stdin is None:
        sys.stdin = open(_STDIN, closefd=False)  # noqa: SIM115  (the process's)
    sys.stdout = _text(_Output(_STDOUT, "w", closefd=False), sys.stdout)
    sys.stderr = _text(_Words(_STDERR, "w", closefd=False), sys.stderr, line_buffering=True)


def silence(number: int) -> None:
    """Sends what is written to a stream from now on to nowhere: else the interpreter complains once more at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), number)


class _Output(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        """:raises StandardOutputError: if it is not taken; BrokenPipeError if nobody reads any more."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StandardOutputError(error.errno, error.strerror) from None


class _Words(io.FileIO):
    def write(self, data: ReadableBuffer, /) -> int:
        """:raises BrokenPipeError: if nobody reads any more."""
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError:
            return memoryview(data).nbytes


def _text(raw: io.FileIO, before: TextIO | None, *, line_buffering: bool = False) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if before is None else before.encoding,
        errors="backslashreplace",
        line_buffering=line_buffering or raw.isatty(),
    )
