"""The strict reader of ``metrics.toml``, from the whole registry down to a single table.

This package imports most other modules of `client_sdk.protocol`.
"""
