"""The parts of the reference pages that the docs build generates from the code."""
