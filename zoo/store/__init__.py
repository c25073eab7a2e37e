"""The store: models that were pulled from the catalogue, the web, hubs and files, each in a folder with its hashes."""
