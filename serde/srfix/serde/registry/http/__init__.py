"""Requests to a registry, with limits on the size and time of answers."""
