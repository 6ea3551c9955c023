"""Checks the values of rows, and builds the errors for values that do not fit."""
