"""The tally store on Redis or Valkey, with its interface, keys, shards and counting script."""
