"""The `srfix` command."""
