"""The data of nets: sources of items, transforms of images, batches, and items written to files."""
