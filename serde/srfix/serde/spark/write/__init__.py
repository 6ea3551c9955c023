"""Typed rows → payloads: the plan and its text."""
