"""Tools without a subject: files, progress, threads, processes, checks of arguments, wording, registries."""
