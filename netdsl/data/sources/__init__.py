"""Where items come from: databases, image lists, well-known data sets, tables and arrays."""
