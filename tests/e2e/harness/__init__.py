"""What the end-to-end scenarios stand on: the cluster, jobs and their data, checks."""
