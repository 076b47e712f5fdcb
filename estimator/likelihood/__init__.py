"""Maximum-likelihood estimates of shares and histograms."""
