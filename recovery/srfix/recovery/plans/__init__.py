"""The common parts of all plans: file and digest, journal, carrying out, rolling back. The writes differ by the kind of
plan.
"""
