"""Reports: the selection of tallies, and comparisons and averages of windows and groups."""
