"""How SIGTERM and an interrupt end a command: at once while it waits or reads, after the write while it writes (`Ending`).
A command that writes a state directory leaves nothing half-written (`tidying_up`)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from srfix.cli.exit_codes import ExitCode
from srfix.cli.output.speaking import say_aside


class Ended(BaseException):
    """A signal has ended the command. No handler of errors catches it."""


class Ending:
    """What SIGTERM and an interrupt (Ctrl-C) do: the first ends the command in an orderly way, the second at once."""

    def __init__(self) -> None:
        self.signal: int | None = None
        """The first signal that came; None if none has come."""
        self._is_held = False

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Handles the signals within the block, unless they are ignored (a job in the background), or in a thread."""
        numbers = (signal.SIGTERM, signal.SIGINT)
        is_main = threading.current_thread() is threading.main_thread()
        taken = [number for number in numbers if is_main and signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._arrived) for number in taken}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @property
    def code(self) -> ExitCode:
        return ExitCode.INTERRUPTED if self.signal == signal.SIGINT else ExitCode.OK

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """A signal within the block raises nothing. The command looks at `signal` after the block."""
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def wait(self, seconds: float) -> bool:
        """Waits for this time, or until a signal comes (`Ended`). True at once if one came within an undisturbed block."""
        if self.signal is None:
            time.sleep(seconds)
        return self.signal is not None

    def _arrived(self, number: int, _frame: FrameType | None) -> None:
        if self.signal is not None:
            os._exit(ExitCode.INTERRUPTED)
        self.signal = number
        if not self._is_held:
            raise Ended


@contextmanager
def tidying_up(target: Path) -> Iterator[None]:
    """Within the block SIGTERM acts as an interrupt, then says what is left; a second signal ends the process."""
    interrupted = signal.getsignal(signal.SIGINT)
    before = signal.getsignal(signal.SIGTERM)
    is_taken = threading.current_thread() is threading.main_thread() and before is not signal.SIG_IGN
    if is_taken:
        signal.signal(signal.SIGTERM, interrupted if callable(interrupted) else signal.default_int_handler)
    was_there = target.exists()
    try:
        yield
    except KeyboardInterrupt:
        say_aside(_left(target, was_there=was_there))
        raise
    finally:
        if is_taken:
            signal.signal(signal.SIGTERM, before)


def _left(target: Path, *, was_there: bool) -> str:
    from srfix.recovery.state.writing.staging import unfinished_path

    if target.exists() and not was_there:
        return f"{target} is complete nevertheless. Run the same command again: it shows the contents, and tidies up."
    unfinished = unfinished_path(target)
    if unfinished.exists():
        return (
            f"The unfinished files are in {unfinished}. The next run discards them and writes everything again, "
            "or you can remove them."
        )
    return f"None of the unfinished files of {target} are left. The next run writes everything again."
