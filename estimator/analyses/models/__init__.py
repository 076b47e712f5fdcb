"""Models learned from tallies: by products or by crosses, and what they predict.

Imports the decoders and the estimates of vectors and covariances.
"""
