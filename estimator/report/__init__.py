"""Which tallies a report uses, and what several windows or groups show together."""
