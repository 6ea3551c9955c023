"""State directories written anew: a store rebuilt from its topic, and a whole directory migrated."""
