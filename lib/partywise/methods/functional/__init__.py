"""Function-on-function regression and vertical federated functional boosting (seed 000)."""
