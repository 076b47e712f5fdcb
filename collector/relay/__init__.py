"""A relay, which receives uploads from devices, mixes them, and forwards them to a collector.

The collector does not see any device's address, and the relay stores nothing about a device on
disk. The relay acknowledges an upload only after the collector has acknowledged it. If the relay
dies, its devices send the same uploads again, and the collector counts each upload once.
"""
