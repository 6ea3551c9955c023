"""Plan, apply, journal, verify, roll back."""
