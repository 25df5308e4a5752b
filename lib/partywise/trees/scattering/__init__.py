"""Label scattering in numbers."""
