"""Pictures of nets: boxes for layers, in ranks, as SVG or PNG."""
