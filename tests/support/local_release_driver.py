"""What the tests of released curves share: options without and with noise."""

from partywise.methods.functional.options import LocalOptions

CLEAN = LocalOptions(noise="none", max_steps=30)
NOISY = LocalOptions(s=0.4, max_steps=30)
