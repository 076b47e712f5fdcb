"""The folder of ``hearsay-estimator archive``: one for each closed window, and an index.

Imports reports and their forms; the commands import it.
"""
