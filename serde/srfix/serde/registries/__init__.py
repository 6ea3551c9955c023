"""Turns every form of a registry that srfix accepts into a client."""
