"""Find out which stores cannot be read, decide, repair, verify, and undo."""
