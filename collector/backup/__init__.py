"""A backup of a store: its format, how it is written, and how it is put into an empty store.

A backup is NDJSON. `lines` defines its format; `store_reader` reads a store, `store_filler` fills
one. A backup of a store that is counting has these properties:

* It holds every shard as it was at one instant, the shard's cut. An upload lies on one shard, so
  the backup holds it with its id and all its counts, or not at all.
* Different shards have different cuts, all between the beginning and the end of the export. A
  window is closed in the backup if it was closed at every cut; then its tallies are final.
* Uploads that were acknowledged after the cut are missing: restoring loses them.
* If an upload comes again at the restored store, and it is in the backup, the same reports are
  accepted as the first time. If it is not in the backup, it is judged again. It is never counted
  twice.
"""
