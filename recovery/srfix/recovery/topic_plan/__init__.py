"""Plans that write to topics: fill a changelog from its source, expire keys by age. Apply, journal, rollback."""
