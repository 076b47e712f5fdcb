"""A relay: takes uploads from devices, mixes them, and hands them on to a collector.

The collector sees no device's address. Nothing about a device is stored on disk. The relay answers
a device after the collector has answered, so an acknowledgement is always the collector's own. If
the relay dies, its devices send the same uploads again, and the collector counts each once.

A relay's only file lists stopped questions, and every device receives the same list.
"""
