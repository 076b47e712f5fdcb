"""The strict parser of ``metrics.toml``, for the whole registry and for single tables."""
