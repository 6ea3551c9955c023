"""What Java's configuration files hold: their syntax, ${…} references, JAAS entries, and key and trust stores as PEM."""
