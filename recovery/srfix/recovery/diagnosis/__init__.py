"""Candidates → hypotheses → findings, and what was not looked at."""
