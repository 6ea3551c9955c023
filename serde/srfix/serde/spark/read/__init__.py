"""Payloads → typed rows: the plan and its text."""
