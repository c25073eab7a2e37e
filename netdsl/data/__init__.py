"""Where nets get their items from: sources of every kind, transforms, and batches made ahead of training."""
