"""Reads many payloads at a time, with bad rows as values."""
