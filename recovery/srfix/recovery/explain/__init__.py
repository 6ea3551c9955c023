"""What a finding code means, and what a stack trace shows."""

from srfix.recovery.explain.catalogue import CATALOGUE, entry, near_codes
from srfix.recovery.explain.log_text import without_prefixes
from srfix.recovery.explain.stack_trace import StackTraceReading, read
