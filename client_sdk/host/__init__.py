"""The process and the machine in which the SDK runs."""
