"""Backups of a store. A backup can be restored into an empty store.

A backup is NDJSON. `lines` defines the format, `store_reader` reads a store, and `store_filler`
fills a store. Collectors may count uploads in the store during an export. The backup then has these
properties:

* A shard's *cut* is its state at one instant. The backup contains the cut of every shard. An upload
  belongs to one shard, so the backup contains either both the upload's id and all its counted
  reports, or neither.
* Different shards have different cuts. In the backup, a window is closed if it was closed in every
  cut. The tallies of closed windows are final.
* Uploads that were acknowledged after their shard's cut are not in the backup. Restoring the backup
  loses these uploads.
* If a device resends an upload to the restored store, the upload is not counted twice.
"""
