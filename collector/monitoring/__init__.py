"""What the service counts of itself, and whether it is healthy."""
