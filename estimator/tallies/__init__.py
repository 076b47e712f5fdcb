"""Tallies as the estimator reads them: from a collector or a file, strictly."""
