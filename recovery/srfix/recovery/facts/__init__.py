"""The facts that one look at cluster, registry and state directories has gathered."""
