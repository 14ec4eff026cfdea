package dispatch

import (
	"context"
	"errors"
	"fmt"
)

// Close stops background work, ends the workers and closes the audit log. All calls must have ended. Close waits at most until ctx
// ends. Its error then names what is still running and ends only with the process.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.stop()
	d.results.Close()
	closing := []*closer{{name: "the background work", close: func() error { d.background.Wait(); return nil }}}
	runners, logs := d.open()
	for r, name := range runners {
		closing = append(closing, &closer{name: "plugin " + name, close: func() error { r.close(); return nil }})
	}
	if d.store != nil {
		closing = append(closing, &closer{name: "the compilers", close: d.store.Close})
	}
	if d.derived != nil {
		closing = append(closing, &closer{name: "the derived data", close: d.derived.Close})
	}
	for log := range logs {
		closing = append(closing, &closer{name: "the audit log", close: func() error { return log.Close(ctx) }})
	}
	return closeAll(ctx, closing)
}

// closer closes a resource in its own goroutine, since closing may take longer than Close waits.
type closer struct {
	name  string
	close func() error
	done  chan error // receives the result of the function close
}

// closeAll runs all closers concurrently.
func closeAll(ctx context.Context, all []*closer) error {
	for _, c := range all {
		c.done = make(chan error, 1)
		go func() { c.done <- c.close() }()
	}
	var errs []error
	for _, c := range all {
		errs = append(errs, c.wait(ctx))
	}
	return errors.Join(errs...)
}

// wait returns the result of the function close. If that has not returned when ctx ends, wait returns an error.
func (c *closer) wait(ctx context.Context) error {
	select {
	case err := <-c.done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-c.done:
		return err
	default:
		return fmt.Errorf("close: gave up waiting for %s: %w", c.name, context.Cause(ctx))
	}
}
