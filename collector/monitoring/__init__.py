"""What the service counts about itself, and whether it is healthy."""
