"""Requests to a registry, and answers that are bounded in size and time."""
