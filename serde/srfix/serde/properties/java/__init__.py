"""Reads Java's configuration files: their syntax, ${…} references, JAAS entries, and key and trust stores (as PEM)."""
