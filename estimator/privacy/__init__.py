"""What devices reveal at most: composition, amplification by shuffling, exposure over time."""
