"""The tally store on Redis or Valkey, with its interface, keys, shards and counting script.

The package `collector.redis_servers` sends the store's commands to the servers.
"""
