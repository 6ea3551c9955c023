"""Client properties for Kafka and for the registry, and clients made from them."""
