package host

import (
	"context"
	"errors"
	"fmt"
)

// Close ends what runs in the background and releases the modules. Calls must have ended. It waits no longer
// than ctx lasts, whatever compilers and disks do: what has not ended by then is left to the end of the
// process, and the error names it.
func (h *Host) Close(ctx context.Context) error {
	h.stop()
	closing := []*closer{{name: "the background", close: func() error { h.background.Wait(); return nil }}}
	for _, p := range h.plugins {
		closing = append(closing, &closer{name: "plugin " + p.name, close: func() error { p.close(); return nil }})
	}
	if h.store != nil {
		closing = append(closing, &closer{name: "the compilers", close: h.store.Close})
	}
	if h.audit != nil {
		closing = append(closing, &closer{name: "the audit log", close: func() error { return h.audit.Close(ctx) }})
	}
	return closeAll(ctx, closing)
}

// closer is something that is closed, which may take longer than anybody waits.
type closer struct {
	name  string
	close func() error
	done  chan error // holds what close returned
}

// closeAll closes all side by side.
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

// wait returns what close returned, or that it had not when ctx ended.
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
