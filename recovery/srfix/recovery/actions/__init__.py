"""The writes of a repair, in words and as JSON: the state that each expects, the state that it leaves, and its undo."""
