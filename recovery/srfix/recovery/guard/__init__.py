"""Predicts what will break: `srfix guard`. Nothing here writes."""
