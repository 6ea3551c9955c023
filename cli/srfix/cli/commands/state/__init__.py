"""The commands of `srfix state`, a module each."""
