"""Sets of images with marked objects, written in the forms that programs for detection and segmentation read."""
