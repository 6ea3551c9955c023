"""Candidates → hypotheses → findings, and what was not looked at."""

from srfix.recovery.diagnosis.acknowledged import acknowledge, unused_patterns
from srfix.recovery.diagnosis.diagnose import Examination, diagnose
