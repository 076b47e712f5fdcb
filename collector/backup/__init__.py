"""Backups of a store, which can be restored into an empty store.

A backup is NDJSON. `lines` defines the format, `store_reader` reads a store, and `store_filler`
fills a store. A backup that was made while the store counted has these properties:

* It contains the state of every shard at one instant, which is called the shard's cut. An upload
  belongs to one shard, so the backup contains either its id and all its counts, or neither.
* Different shards have different cuts, all between the beginning and the end of the export. In the
backup, a window is closed if it was closed at every cut. The tallies of closed windows are final.
* Uploads that were acknowledged after their shard's cut are not in the backup. Restoring the
backup loses them.
* A device may resend an upload to the restored store. If the backup contains the upload, the same
  reports are accepted as when it was first sent. Otherwise, the upload is judged again. No upload
  is counted twice.
"""
