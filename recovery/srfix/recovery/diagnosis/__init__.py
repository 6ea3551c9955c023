"""Candidates → hypotheses → findings, and a list of what srfix did not look at."""
