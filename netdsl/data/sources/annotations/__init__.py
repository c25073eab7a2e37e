"""Images with marked objects, as data sets for detection and segmentation store them."""
