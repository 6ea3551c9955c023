"""What one look at cluster, registry and state directories gathered."""
