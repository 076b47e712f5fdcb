"""Commands to Redis and Valkey servers, with their connections, pipelines and cluster slots.

This package knows neither the keys nor the scripts of the tally store.
"""
