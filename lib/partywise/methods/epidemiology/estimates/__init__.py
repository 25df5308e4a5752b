"""Estimates of epidemiology with intervals that count sampling and noise: functions of consistent tables."""
