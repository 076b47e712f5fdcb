"""Commands to Redis and Valkey servers: connections, pipelines and cluster slots.

This package contains no keys and no scripts of the store. The store passes a function that prepares
each new connection.
"""
