"""The exit codes: part of the command line's contract."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The exit code that the shell sees."""

    OK = 0
    """Nothing wrong, or done."""
    FINDINGS = 1
    """`diagnose` or `verify` found something."""
    REFUSED = 2
    """A usage error, a refusal, or a command that could not run or could not look at everything."""
    PARTIAL = 3
    """A repair that was applied in part."""
    BUG = 70
    """A bug of srfix (EX_SOFTWARE)."""
    INTERRUPTED = 130
    """Interrupted, or a question that was declined."""
    PIPE_CLOSED = 141
    """The reader of the report has closed the pipe. A shell shows this code for SIGPIPE."""
