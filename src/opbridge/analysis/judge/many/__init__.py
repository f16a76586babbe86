"""Many answers: batches, clusters and the HTTP service."""
