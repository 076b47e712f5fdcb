"""Reports: estimates from selected tallies, comparisons of windows or groups, and averages."""
