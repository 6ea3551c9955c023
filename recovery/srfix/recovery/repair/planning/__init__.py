"""From findings to a plan: what is needed, what the registry will say to it, what it costs."""
