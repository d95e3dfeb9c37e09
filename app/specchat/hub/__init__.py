"""Where models come from. Nothing native."""
