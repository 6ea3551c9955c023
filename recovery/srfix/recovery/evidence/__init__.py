"""The evidence for a store's source topic."""
