"""Deploys nets: keeps the layers that predict and removes those that only training needs."""
