"""A backup of a store: its format, how it is written, and how it is put into an empty store.

A backup is NDJSON. `lines` defines its format; `store_reader` reads a store, `store_filler` fills
one. A backup of a store that is counting has these properties:

* It contains every shard as of one instant, the shard's cut. An upload belongs to one shard, so the
  backup contains it with its id and all its counts, or not at all.
* Different shards have different cuts, all between the beginning and the end of the export. A
  window is closed in the backup if it was closed at every cut; then its tallies are final.
* Uploads acknowledged after the cut are missing. Restoring the backup loses them.
* If a device sends an upload again to the restored store, and the backup contains it, the same
  reports are accepted as the first time. Otherwise it is judged again. It is never counted twice.
"""
