"""The results of estimation, as frozen data. This package neither computes nor formats."""
