"""Selection of a report's tallies, and comparisons and averages of windows and groups."""
