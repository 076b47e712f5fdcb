"""The reporting job: from tallies to estimates with their uncertainty."""
