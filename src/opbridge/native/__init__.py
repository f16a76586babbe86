"""From declarations to what the native adapters read; the C++ beside these modules is built into _core and adapters."""
