"""Models learned from tallies, by products or by crosses, and predictions by these models.

This package imports the decoders, and the estimates of vectors and covariances.
"""
