"""Looking again and again: what is new, what is missing for it, and registering what a signed-off plan allows."""
