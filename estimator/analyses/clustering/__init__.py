"""Groups of similar answers: from the clusters of a tally down to k-means.

Imports covariances and what is known.
"""
