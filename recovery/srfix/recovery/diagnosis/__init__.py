"""Candidates → hypotheses → findings, and what was not looked at."""

from srfix.recovery.diagnosis.acknowledged import acknowledge, unused_patterns
from srfix.recovery.diagnosis.candidates import find_candidates
from srfix.recovery.diagnosis.diagnose import Examination, diagnose
from srfix.recovery.diagnosis.learning import Counter, is_global, learn
from srfix.recovery.diagnosis.undecided import refused_groups
from srfix.recovery.diagnosis.weighing import weigh_all
