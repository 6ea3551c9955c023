"""What a row may hold, and what is said where it does not fit."""
