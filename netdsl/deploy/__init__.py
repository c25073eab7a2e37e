"""What a net becomes when it is used: the layers that predict, without those that only training needs."""
