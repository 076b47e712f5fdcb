"""General statistics: intervals, tests and projections, which use nothing else of Hearsay."""
