"""Upper bounds on what reports and published tallies reveal."""
