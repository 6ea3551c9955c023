"""Payloads → typed rows: the plan, its text, and frames made of it."""
