"""What `srfix state` shows of the stores on disk."""
