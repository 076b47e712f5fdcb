"""A relay: takes uploads from devices, mixes them, and hands them on to a collector.

The collector sees no device's address. It keeps nothing on disk. A device is answered after the
collector has answered, so an acknowledgement is always the collector's own. If the relay dies, its
devices send the same uploads again, and the collector counts each once.
"""
