"""Every bound on what others wrote: name, default, what it protects from, how to change it.

To change one that is no argument, assign it before anything else of srfix is imported:

    import srfix.serde.bounds
    srfix.serde.bounds.MESSAGE = 50_000
"""

from __future__ import annotations

from typing import Final

__all__ = ["COMMAND_WORD", "FOREIGN_TEXT", "MESSAGE"]

# --- messages
MESSAGE: Final = 16_000
"""Characters of a message or a sentence of a report; the middle of a longer one is left out. It protects from a subject's name
or a registry's answer of a megabyte on the terminal and in the log."""
FOREIGN_TEXT: Final = 600
"""Characters of somebody else's words in a message (a registry's, a proxy's, ksqlDB's); the rest is counted. It protects from
messages in which nobody finds what to do next: a 409 quotes whole schemas."""
COMMAND_WORD: Final = 8_000
"""Characters of one argument in a printed command; a longer one is asked for by a variable. It protects from commands that no
terminal takes, and that would be cut."""
