"""The bodies that travel between device, relay, collector and estimator, read strictly.

Imports windows and errors of the vocabulary only.
"""
