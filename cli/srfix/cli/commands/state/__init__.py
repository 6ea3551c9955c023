"""`srfix state …`: what a state directory, a store or its changelog holds, and what is done about it."""
