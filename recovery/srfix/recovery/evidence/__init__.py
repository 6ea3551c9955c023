"""What speaks for a store's source topic: one module per kind of evidence."""
