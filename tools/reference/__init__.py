"""What the docs build writes into the reference pages from the code."""
