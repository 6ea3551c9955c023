"""What SIGTERM and an interrupt do while a state directory is written: nothing half-written stays, and what stays is said."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from srfix.cli.output.speaking import say


@contextmanager
def tidying_up(target: Path) -> Iterator[None]:
    """Within the block SIGTERM does what an interrupt does: `staged` removes what it has written, and the command ends in 130.

    What is left then is said: nothing, the whole directory, or what could not be removed. Not where SIGTERM is ignored, nor in
    a thread. A second signal ends the process at once.

    :param target: the directory that is written.
    """
    interrupted = signal.getsignal(signal.SIGINT)
    before = signal.getsignal(signal.SIGTERM)
    is_taken = threading.current_thread() is threading.main_thread() and before is not signal.SIG_IGN
    if is_taken:
        signal.signal(signal.SIGTERM, interrupted if callable(interrupted) else signal.default_int_handler)
    was_there = target.exists()
    try:
        yield
    except KeyboardInterrupt:
        say(_left(target, was_there=was_there), err=True)
        raise
    finally:
        if is_taken:
            signal.signal(signal.SIGTERM, before)


def _left(target: Path, *, was_there: bool) -> str:
    from srfix.recovery.state.writing.staging import unfinished_path

    if target.exists() and not was_there:
        return f"{target} is whole all the same. The same command once more shows what is in it, and tidies up."
    unfinished = unfinished_path(target)
    if unfinished.exists():
        return (
            f"{unfinished} is left of what was written: the next run throws it away and writes all anew, or remove it."
        )
    return f"Nothing is left of what was written for {target}: the next run writes all anew."
