"""Fine-tuning: training a pretrained model to classify other data, which results in a new model."""
