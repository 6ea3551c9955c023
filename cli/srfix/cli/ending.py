"""How a command that runs on is ended: at once while it waits or looks, after the write while it writes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from srfix.cli.exit_codes import ExitCode


class Ended(BaseException):
    """A signal has ended the command. No handler of errors catches it."""


class Ending:
    """What SIGTERM and an interrupt (Ctrl-C) do: the first ends the command in order, the second at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first that came; None while none has."""
        self._is_held = False

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Looks out for them within the block; not where they are ignored (a job in the background), nor in a thread."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        taken = [each for each in numbers if is_main and signal.getsignal(each) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._arrived) for number in taken}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @property
    def code(self) -> ExitCode:
        """What the command ends with."""
        return ExitCode.INTERRUPTED if self.signal == signal.SIGINT else ExitCode.OK

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """A signal within the block raises nothing: the command looks at `signal` when the block is over."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def wait(self, seconds: float) -> bool:
        """Waits so long, or until a signal comes (`Ended`); True, at once, if one came within an undisturbed block."""
        if self.signal is None:
            time.sleep(seconds)
        return self.signal is not None

    def _arrived(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(ExitCode.INTERRUPTED)
        self.signal = number
        if not self._is_held:
            raise Ended
