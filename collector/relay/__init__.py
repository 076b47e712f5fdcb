"""A relay: receives uploads from devices, mixes them, and forwards them to a collector.

The collector does not see any device's address, and the relay stores nothing about a device on
disk. The relay responds to a device only after the collector has responded, so every
acknowledgement comes from the collector. If the relay dies, its devices send the same uploads
again, and the collector counts each upload once.

The only file of a relay contains the stopped questions, and every device gets the same list.
"""
