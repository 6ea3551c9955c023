"""What a finding code means, and what a stack trace shows."""

from srfix.recovery.explain.catalogue import CATALOGUE, entry
from srfix.recovery.explain.stack_trace import StackTraceReading, read
