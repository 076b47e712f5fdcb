"""The mutation score: how many small faults the tests refuse."""
