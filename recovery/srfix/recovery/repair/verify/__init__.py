"""Checks whether a repair holds, with the requests of the failing reader."""
