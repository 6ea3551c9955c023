"""From findings to a plan: the needed schemas, the registry's probable answers, and the cost."""
