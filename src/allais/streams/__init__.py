"""Streams: a value with memory, up to date after every sample."""

from allais.streams.stream import CertifiedValue, ValueStream

__all__ = ["CertifiedValue", "ValueStream"]
