"""Images with the objects that people marked in them, as data sets of detection and segmentation keep them."""
