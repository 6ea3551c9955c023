"""ksqlDB's facts about its queries: asked live, or read from saved answers."""
