"""A stretch of a channel as one HTML file that plays in a browser."""
