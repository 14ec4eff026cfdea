package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// handleSignals handles the signals that do not end the server, until stop is called: SIGUSR1 dumps goroutines.
func handleSignals(stderr io.Writer) (stop func()) {
	signals, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGUSR1)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGUSR1 {
					_, _ = stderr.Write(goroutineDump())
				} else {
					fmt.Fprintln(stderr, "bulkhead: SIGHUP is ignored: SIGTERM ends the server")
				}
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}
