package install

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit/forward"
)

// copyTime bounds how long a command waits for the copies of a record.
const copyTime = 2 * time.Second

// recorded makes a change and adds its records to the audit log of the config in force, which a describes: servers that use the log at the same
// time lock it for each line. With on_failure = "closed", a change that grants something is not made while the log cannot be opened; one that
// revokes something always is. After an error of change nothing is recorded. unrecorded is the reason why a change that was made has no record;
// empty if it has one, or if a is nil.
func recorded(a *config.Audit, grants bool, change func() ([]audit.Record, error)) (unrecorded string, err error) {
	log, failed := openAudit(a, forward.SystemSockets)
	if failed != nil && grants && a.OnFailure == config.FailClosed {
		return "", usage.Errorf("nothing was changed, since its audit record cannot be written: %w", errors.Join(failed, log.Close(context.Background())))
	}
	records, err := change()
	if err == nil {
		for _, r := range records {
			r.ID, r.Principal, r.Outcome = log.NewID(), gateway.LocalUser.ID, audit.OK
			failed = errors.Join(failed, log.Write(r))
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), copyTime)
	defer cancel()
	if failed = errors.Join(failed, log.Close(ctx)); failed != nil && err == nil {
		return failed.Error(), nil
	}
	return "", err
}

// openAudit opens an audit log for few records: each is written before Write returns, with its error. If a is nil, so is the log. If a copy
// cannot be opened, openAudit returns the log of the file with the error, since what is revoked meanwhile needs a record, too.
func openAudit(a *config.Audit, at forward.Sockets) (*audit.Log, error) {
	if a == nil {
		return nil, nil
	}
	few := *a
	few.OnFailure, few.Arguments = config.FailClosed, audit.ArgumentsNone
	log, err := forward.Open(&few, nil, hclog.NewNullLogger(), at)
	if err != nil {
		few.Also = nil
		log, _ = forward.Open(&few, nil, hclog.NewNullLogger(), at) // nil with the same error, if the file is the cause
	}
	return log, err
}

// policyChange returns the record of a change of policy.
func policyChange(what, config string) audit.Record {
	return audit.Record{Kind: audit.KindPolicy, Method: what, Config: config}
}
