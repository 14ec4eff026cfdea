//go:build unix

package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes ignores SIGPIPE. After a client has disconnected the next write fails, which shuts down gracefully; the
// signal would kill the process during calls.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }

// handleSignals handles the signals that do not end the server, until stop is called: SIGUSR1 dumps goroutines, SIGHUP
// calls reload. Calls of reload do not overlap.
func handleSignals(stderr io.Writer, reload func()) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	reloads := make(chan struct{}, 1)
	go func() {
		for range reloads {
			reload()
		}
	}()
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGUSR1 {
					_, _ = stderr.Write(goroutineDump())
				} else {
					select {
					case reloads <- struct{}{}:
					default: // a reload is already waiting, and reads the files when it runs
					}
				}
			case <-done:
				close(reloads)
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
