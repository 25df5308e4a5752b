"""Boosted trees and random forests of columns that several parties hold (seed 003)."""
