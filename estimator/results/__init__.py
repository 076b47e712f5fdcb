"""What is known, as frozen data. Nothing here computes or formats."""
