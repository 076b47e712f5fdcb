"""The tally store on Redis or Valkey: its protocol, keys, the counting script, shards and windows.

Imports `collector.servers` for sending commands.
"""
