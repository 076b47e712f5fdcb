"""A relay: takes uploads from devices, mixes them, and forwards them to a collector.

The collector sees no device's address, and the relay stores nothing about a device on disk. The
relay answers a device only after the collector has answered, so every acknowledgement comes from
the collector. If the relay dies, its devices send the same uploads again, and the collector counts
each upload once.

A relay has only one file. It lists stopped questions, and every device receives the same list.
"""
