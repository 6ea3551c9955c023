"""Which writer field feeds which column, and which column is written as which field: one frozen tree for all engines."""
