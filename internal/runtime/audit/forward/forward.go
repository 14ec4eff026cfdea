// Package forward opens the audit log that a config defines, with the copies that its key also names: the journal of systemd, syslog and
// stdout.
package forward

import (
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Sockets are the paths of the sockets of the system's logs.
type Sockets struct{ Journald, Syslog string }

// SystemSockets are the sockets that systemd and the daemons of syslog listen on.
var SystemSockets = Sockets{Journald: "/run/systemd/journal/socket", Syslog: "/dev/log"}

// Open opens the audit log of a; nil if a is nil. Copies that a names for stdout go to stdout, and nowhere if stdout is nil. If the log or the
// socket of a copy cannot be opened, Open returns a *usage.Error.
func Open(a *config.Audit, stdout io.Writer, log hclog.Logger, at Sockets) (*audit.Log, error) {
	if a == nil {
		return nil, nil
	}
	copies, err := open(a.Also, stdout, at)
	if err != nil {
		return nil, usage.Errorf("%s:%d: audit.also: %w\n  remedy: start the service, or remove it from also", a.Source, a.Line, err)
	}
	l, err := audit.Open(audit.Config{
		File: a.File, MaxSize: a.MaxSize, Keep: a.Keep, Arguments: a.Arguments, OnFailure: a.OnFailure, Copies: copies, Log: log.Named("audit"),
	})
	if err != nil {
		return nil, &usage.Error{Err: errors.Join(err, closeAll(copies))}
	}
	return l, nil
}

// Check returns an error if the socket of a copy cannot be opened.
func Check(a *config.Audit, at Sockets) error {
	copies, err := open(a.Also, nil, at)
	return errors.Join(err, closeAll(copies))
}

// open opens the copies with these names.
func open(names []string, stdout io.Writer, at Sockets) (copies []audit.Copy, err error) {
	for _, name := range names {
		var out audit.Appender
		switch name {
		case config.AuditStdout:
			if stdout == nil {
				continue
			}
			out = stream{stdout}
		case config.AuditJournald:
			out, err = dial(at.Journald, encodeJournal, sendFile)
		case config.AuditSyslog:
			out, err = dial(at.Syslog, encodeSyslog, nil)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("%s cannot be reached: %w", name, err), closeAll(copies))
		}
		copies = append(copies, audit.Copy{Name: name, Out: out})
	}
	return copies, nil
}

func closeAll(copies []audit.Copy) error {
	var errs []error
	for _, c := range copies {
		errs = append(errs, c.Out.Close())
	}
	return errors.Join(errs...)
}

// stream appends lines to a writer that it does not close.
type stream struct{ io.Writer }

// Append implements audit.Appender.
func (s stream) Append(lines []byte) (int, error) {
	n, err := s.Write(lines)
	return wholeLines(lines[:n]), err
}

// Close implements audit.Appender.
func (stream) Close() error { return nil }
