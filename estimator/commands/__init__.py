"""The commands of ``hearsay-estimator``: they parse, call, print, and set the exit code."""
