package main

import "io"

// ignoreBrokenPipes does nothing: on Windows a write to a broken pipe only fails.
func ignoreBrokenPipes() {}

// handleSignals does nothing: Windows has neither SIGHUP nor SIGUSR1. A server reloads when files change.
func handleSignals(io.Writer, func()) (stop func()) { return func() {} }
