"""The results of estimation, as frozen data. Nothing here computes or formats."""
