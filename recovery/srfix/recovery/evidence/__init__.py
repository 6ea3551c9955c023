"""What speaks for a store's source topic: one module per kind of evidence."""

from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.committed_offsets import read_topics
from srfix.recovery.evidence.hypotheses import Hypothesis, Verdict, choose, order
from srfix.recovery.evidence.unseen_source import unseen_source
