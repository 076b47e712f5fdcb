"""The tally store on Redis or Valkey: its protocol, keys, counting script, shards and windows.

It imports `collector.servers`, which sends the commands.
"""
