"""The estimates of one tally: shares, means, distributions, joint tables and clusters."""
