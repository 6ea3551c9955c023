"""Every form in which a registry may be given, as one that srfix asks."""
