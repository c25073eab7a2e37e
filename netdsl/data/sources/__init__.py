"""Sources of items: databases, lists of images, tables and well-known data sets."""
