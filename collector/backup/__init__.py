"""A backup of a store: what it holds of each line, how it is written from a store, and put into an empty one.

A backup is NDJSON. `lines` says what a line may be, `archive` what is needed of a store. What a backup of a store that
is counting means:

* Of every shard it is the store at one instant, the shard's cut: an upload is in it with its id and all its counts, or
  not at all. An upload lies on one shard.
* Different shards have different cuts, all between the beginning of the export and its end. A window is closed in the
  backup if it was closed at every cut: then its tallies are final.
* Uploads that were acknowledged after the cut are not in it: restoring loses them.
* Of an upload that comes again at the restored store the same reports are accepted as the first time if it was in the
  backup; it is judged anew if it was not: never counted twice.
"""
