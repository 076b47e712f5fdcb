"""The embedded store: a Valkey server that a collector starts for itself, on a data directory.

This package may import `collector.redis_servers`, which sends commands, and the layers below it.
"""
