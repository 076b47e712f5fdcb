"""The process in which the SDK runs, and the machine on which it runs."""
