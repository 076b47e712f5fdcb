"""The bodies that travel between device, relay, collector and estimator, read strictly.

Imports only windows and errors of the vocabulary.
"""
