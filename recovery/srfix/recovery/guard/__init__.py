"""What will break, told before it does: `srfix guard`. Nothing here writes."""
