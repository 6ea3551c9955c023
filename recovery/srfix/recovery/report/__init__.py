"""A diagnosis and a plan in short: what stands on the first screen."""

from srfix.recovery.report.in_short import InShort, StoreInShort, in_short
from srfix.recovery.report.places import ids_in_short, ranges
from srfix.recovery.report.plan_in_short import WritesInShort, writes_in_short
