"""The embedded store: a Valkey server that the collector runs for itself on a data directory.

It may import `collector.redis_servers`, which sends commands, and the layers below it.
"""
