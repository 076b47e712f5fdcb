"""The command line: each module parses options, calls what works, and prints the result.

Imports any folder of the estimator; nothing imports it.
"""
