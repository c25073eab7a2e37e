"""Deployment of nets: the layers that predict, without those that only training needs."""
