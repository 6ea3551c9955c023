"""The common parts of all plans: file and digest, journal, carrying out, rolling back."""
