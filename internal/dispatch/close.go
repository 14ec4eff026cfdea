package dispatch

import (
	"context"
	"errors"
	"fmt"
)

// Close ends what runs in the background, the workers and the audit log. Calls must have ended. Close waits until ctx ends
// at most; the error names what had not ended by then, which then ends with the process.
func (d *Dispatcher) Close(ctx context.Context) error {
	d.stop()
	closing := []*closer{{name: "the background", close: func() error { d.background.Wait(); return nil }}}
	for _, p := range d.plugins {
		closing = append(closing, &closer{name: "plugin " + p.Name, close: func() error { p.close(); return nil }})
	}
	if d.store != nil {
		closing = append(closing, &closer{name: "the compilers", close: d.store.Close})
	}
	if d.audit != nil {
		closing = append(closing, &closer{name: "the audit log", close: func() error { return d.audit.Close(ctx) }})
	}
	return closeAll(ctx, closing)
}

// closer closes something, which may take longer than Close waits.
type closer struct {
	name  string
	close func() error
	done  chan error // holds what close returned
}

// closeAll closes all concurrently.
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

// wait returns what close returned, or an error if it had not returned when ctx ended.
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
		return fmt.Errorf("close: %s was not waited for any longer: %w", c.name, context.Cause(ctx))
	}
}
