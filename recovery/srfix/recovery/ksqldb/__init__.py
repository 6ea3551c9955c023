"""What ksqlDB knows of its queries: asked live, or read from what a person saved."""
