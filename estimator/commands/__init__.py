"""The command line. Each module parses options, calls other packages, and prints the result.

This package may import any other package of the estimator. No package imports it.
"""
