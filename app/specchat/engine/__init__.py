"""One child process owns the models; the rest talks to it over a pipe."""
