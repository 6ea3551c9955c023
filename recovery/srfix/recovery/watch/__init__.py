"""Looks again and again for new schemas, and registers what is missing where a signed-off plan allows it."""
