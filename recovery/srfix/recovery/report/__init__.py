"""A diagnosis in short: what stands on the first screen."""

from srfix.recovery.report.in_short import InShort, StoreInShort, beside_finding, in_short
from srfix.recovery.report.places import ids_in_short, ranges
