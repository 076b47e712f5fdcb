"""A backup of a store: its format, its creation, and its restoration into an empty store.

A backup is NDJSON. `lines` defines its format; `store_reader` reads a store, `store_filler` fills
one. A backup taken while a store is counting has these properties:

* It contains every shard as of one instant, the shard's cut. An upload belongs to one shard, so the
  backup contains either the upload's id and all its counts, or neither.
* Different shards have different cuts, all between the beginning and the end of the export. A
  window is closed in the backup if it was closed at every cut. The tallies of closed windows are
  final.
* Uploads acknowledged after their shard's cut are missing. Restoring the backup loses them.
* If a device resends an upload to the restored store, and the backup contains the upload, the same
  reports are accepted as the first time. If the backup does not contain the upload, it is judged
  anew. No upload is counted twice.
"""
