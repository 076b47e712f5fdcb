"""Maximum-likelihood estimates on the simplex."""
