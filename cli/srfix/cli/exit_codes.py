"""The exit codes: part of the command line's contract."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the shell sees."""

    OK = 0
    """Nothing wrong, or done."""
    FINDINGS = 1
    """`diagnose` or `verify` found something."""
    REFUSED = 2
    """A usage error, a refusal, or something that could not run or could not look."""
    PARTIAL = 3
    """A repair that was applied in part."""
    BUG = 70
    """A bug of ours (EX_SOFTWARE)."""
    INTERRUPTED = 130
    """Interrupted, or a question that was declined."""
    PIPE_CLOSED = 141
    """Whoever read the report stopped reading: what a shell shows for SIGPIPE."""
