"""The writes of a repair: what each expects, leaves and undoes, in words and as JSON."""
