"""Requests: the questions that the zoo answers, with their fields, defaults, ranges and help. This package doesn't
import torch."""
