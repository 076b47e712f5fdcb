"""Commands to Redis and Valkey servers: connections, pipelines and cluster slots.

This package contains no key and no script of the store. The store passes in a function that
prepares each new connection.
"""
