"""What a GGUF file is and which draft fits which target. Nothing native."""
