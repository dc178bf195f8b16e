"""JSON without blanks, by an encoder that is made once."""

from __future__ import annotations

import json

dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
