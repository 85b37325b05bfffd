"""Rows to Parquet files and back; pyarrow is loaded on first use."""
