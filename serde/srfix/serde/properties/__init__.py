"""Client properties for Kafka and for the registry: which there are, and clients made of them."""
