"""Commands to Redis and Valkey servers, with their connections, pipelines and cluster slots.

This package knows neither the keys nor the scripts of the tally store. The store passes it a
function that prepares each new connection, for example by loading a script.
"""
