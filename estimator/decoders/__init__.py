"""The decoders of the mechanisms, which estimate answers from the symbols of reports.

The table in the module `inversions` lists the functions for each mechanism.
"""
