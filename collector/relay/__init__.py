"""A relay: takes uploads from devices, mixes them, and hands them on to a collector that sees no device's address.

It keeps nothing on disk: a device is answered when the collector has answered, so that an acknowledgement is always the
collector's own. If the relay dies, its devices send the same uploads again, and the collector counts each once.
"""
