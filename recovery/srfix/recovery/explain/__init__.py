"""What a finding code means, and what a stack trace shows."""
