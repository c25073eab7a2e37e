"""What is kept of a training run: lines of JSON, TensorBoard's events, a picture of the curves."""
