"""``metrics.toml``, read strictly.

Imports the rest of the vocabulary but the wire.
"""
