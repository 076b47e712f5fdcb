"""Commands to Redis and Valkey servers: connections, pipelines and cluster slots.

Knows no key and no script of the store. A store passes in what it needs done on a fresh connection.
"""
