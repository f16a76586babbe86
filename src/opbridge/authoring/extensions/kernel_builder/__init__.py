"""Hugging Face kernel-builder projects: `ob.extension("build.toml")` builds and imports one unchanged."""
