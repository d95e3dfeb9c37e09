"""The one room that talks to llama.cpp, through the low-level bindings of llama-cpp-python."""
