"""The embedded store, a Valkey server that a collector starts for itself in a data directory.

To send commands to the server, this package uses `collector.redis_servers`.
"""
