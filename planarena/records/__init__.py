"""Every record type and its Parquet schema; canonical JSON and content ids."""
