"""A diagnosis and a plan in short, for the first screen."""
