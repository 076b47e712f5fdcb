"""The decoders of the mechanisms. A decoder estimates answers from the symbols of reports.

The table in the module `inversions` lists the functions for each mechanism.
"""
