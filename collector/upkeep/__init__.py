"""Keeps a store in order: closes windows, and retires tallies in time."""
