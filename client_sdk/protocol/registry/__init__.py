"""Reading ``metrics.toml`` strictly, from the registry down to a single table.

Imports the rest of the vocabulary; from the wire, only the names that a metric may have.
"""
