"""Writes new state directories: a store rebuilt from its topic, or a whole migrated directory."""
