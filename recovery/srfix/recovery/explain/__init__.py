"""The meaning of a finding code, and the meaning of a stack trace."""
