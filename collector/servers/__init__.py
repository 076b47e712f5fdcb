"""Commands to Redis and Valkey servers, by connection, pipeline and cluster slot.

Knows no key and no script of the store.
"""
