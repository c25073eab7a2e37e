"""Training under MPI: the launcher, and the transport between ranks."""
