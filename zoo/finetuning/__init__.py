"""Fine-tuning: a model with weights learns the classes of other data, and becomes a model of its own."""
