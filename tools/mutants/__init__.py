"""The mutation score: the share of small faults in the code that the tests detect."""
