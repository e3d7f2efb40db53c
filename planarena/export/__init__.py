"""Hugging Face and OpenAI exports, the dataset card."""
