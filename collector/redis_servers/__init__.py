"""Commands to Redis and Valkey servers: connections, pipelines and cluster slots.

This package knows no key and no script of the store. A store passes in a function that prepares
each fresh connection.
"""
