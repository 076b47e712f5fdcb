"""The tally store on Redis or Valkey: its protocol, keys, counting script, shards and windows.

This package imports `collector.redis_servers`, which sends the commands.
"""
