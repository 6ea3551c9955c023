"""Typed rows → payloads: the plan, its text, and frames made of it."""
