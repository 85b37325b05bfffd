"""How msgpack begins what frames hold: the first byte of a value says what it is.

Short texts, maps and arrays have their length in it, small numbers their value. Plain and compiled
code take the numbers from here.
"""

from __future__ import annotations

from typing import Final

SHORT_MAP: Final = 0x80
"""Below are the numbers from 0 to 127 themselves."""
SHORT_MAP_END: Final = 0x90
PAIR: Final = 0x92
"""An array of two."""
SHORT_TEXT: Final = 0xA0
SHORT_TEXT_END: Final = 0xC0
FALSE: Final = 0xC2
TRUE: Final = 0xC3
FLOAT_64: Final = 0xCB
UNSIGNED_8: Final = 0xCC
UNSIGNED_64: Final = 0xCF
SIGNED_8: Final = 0xD0
SIGNED_64: Final = 0xD3
TEXT_8: Final = 0xD9
TEXT_16: Final = 0xDA
ARRAY_32: Final = 0xDD
MAP_16: Final = 0xDE
NEGATIVE: Final = 0xE0
"""From here on: the numbers from -32 to -1."""
