"""Which schema ids live where in a topic: an interface, and one module per engine."""
