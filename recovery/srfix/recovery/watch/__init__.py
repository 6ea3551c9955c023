"""Looks again and again for new schemas, finds out what is missing for them, and registers what a signed-off plan
allows.
"""
