"""The evidence for a store's source topic: one module per kind."""
