"""The options that commands share, and where their values come from."""
