"""The strict parser of ``metrics.toml``, for the whole registry and for single tables.

This package imports most other modules of `client_sdk.protocol`.
"""
