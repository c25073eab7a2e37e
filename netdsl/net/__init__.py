"""A net on its way to being run: graph, built layers, torch module and data; and `Net`, which has all of it."""
