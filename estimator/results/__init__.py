"""The results of estimation, as frozen data. Other packages compute and format these results."""
