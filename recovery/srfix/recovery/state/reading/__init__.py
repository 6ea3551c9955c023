"""The rows of the stores in a state directory, as an application would see them: keys, values, times, windows, versions."""
