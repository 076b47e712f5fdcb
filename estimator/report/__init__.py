"""Reports: selected tallies, and comparisons and averages of windows and groups."""
