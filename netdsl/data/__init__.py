"""The data of nets: sources of items, transforms of images, batches, and writers of items to files."""
