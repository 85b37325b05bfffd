"""The reference of the configuration says what the model says."""

from __future__ import annotations

import configuration_page


def test_the_page_is_up_to_date() -> None:
    page = configuration_page.PAGE.read_text(encoding="utf-8")
    assert configuration_page.filled(page) == page, "run: python tools/configuration_page.py"


def test_every_section_has_its_table() -> None:
    text = configuration_page.tables()
    assert "### Top level\n\nOne broker.\n\n| key |" in text
    assert "### `[link]`\n\nBetween brokers.\n\n| key |" in text
    assert "| `id` | required |  | Lasting name" in text
    assert "| `buffer_bytes` | `16_777_216` | bytes; >= 65536 | Notifications kept" in text
    assert '| `network` | `"sapwood"` |  | Name of' in text
    assert "| `insecure` | `false` |  | Allow" in text


def test_only_the_part_between_the_marks_is_written() -> None:
    page = f"before\n{configuration_page.BEGIN}\nsomething else\n{configuration_page.END}\nafter\n"
    filled = configuration_page.filled(page)
    assert filled.startswith("before\n")
    assert filled.endswith(f"{configuration_page.END}\nafter\n")
    assert "something else" not in filled
