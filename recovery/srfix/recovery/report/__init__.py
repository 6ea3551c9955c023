"""A diagnosis and a plan in short: what stands on the first screen."""
