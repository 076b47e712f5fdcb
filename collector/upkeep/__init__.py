"""What the service does by the clock: it closes windows, and deletes tallies that have been kept long enough."""
