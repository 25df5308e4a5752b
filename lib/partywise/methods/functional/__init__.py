"""Function-on-function regression and vertical federated functional boosting (document 000)."""
