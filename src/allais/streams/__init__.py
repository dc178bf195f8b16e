"""Streams: a value with memory, up to date after every sample."""

from allais.samples.cuts import CensoredSample
from allais.streams.stream import CertifiedValue, ValueStream

__all__ = ["CensoredSample", "CertifiedValue", "ValueStream"]
