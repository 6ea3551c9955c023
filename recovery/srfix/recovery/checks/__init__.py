"""One module per finding."""
