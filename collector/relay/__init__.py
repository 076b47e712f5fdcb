"""A relay: takes uploads from devices, mixes them, and hands them on to a collector.

The collector sees no device's address. Nothing of a device is kept on disk. A device is answered
after the collector has answered, so an acknowledgement is always the collector's own. If the relay
dies, its devices send the same uploads again, and the collector counts each once.

The one file that a relay keeps lists stopped questions, which it tells all devices alike.
"""
