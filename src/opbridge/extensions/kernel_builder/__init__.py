"""Projects of Hugging Face's kernel-builder: `ob.extension("build.toml")` builds and imports one as it stands."""
