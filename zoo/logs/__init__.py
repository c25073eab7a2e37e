"""Reports of training runs: TensorBoard's events, plots of curves and of workers' time, and summaries."""
