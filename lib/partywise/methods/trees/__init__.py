"""Boosted trees and random forests of columns that several parties hold (document 003)."""
