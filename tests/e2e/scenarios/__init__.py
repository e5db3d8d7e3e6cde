"""One module a scenario: its first line says what it shows, IMAGES what has to be in the cluster, run() does it."""
