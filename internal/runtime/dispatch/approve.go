package dispatch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/approval"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Codes of the calls that did not run for want of approval.
const (
	approvalPrefix    = "approval_"
	failureDeclined   = approvalPrefix + "declined"
	failureCancelled  = approvalPrefix + "cancelled"
	failureExpired    = approvalPrefix + "expired"
	failureUnable     = approvalPrefix + "unable"     // the user cannot be asked
	failureNotShown   = approvalPrefix + "not_shown"  // the parameters cannot be shown completely
	failureReplayed   = approvalPrefix + "replayed"   // the approval was used before
	failureOutdated   = approvalPrefix + "outdated"   // the user was shown something else
	failureUnrecorded = approvalPrefix + "unrecorded" // the record of used approvals is full
)

// isRefusal reports whether a code is one of the above.
func isRefusal(code string) bool { return strings.HasPrefix(code, approvalPrefix) }

// isDecided reports whether err is the failure of a request about which the user was asked, so that no other plugin gets it.
func isDecided(err error) bool {
	var failure *gateway.Failure
	return errors.As(err, &failure) && isRefusal(failure.Code) && failure.Code != failureUnable
}

// opApprove is the operation that the audit log records for a call that the user has approved, and the code of the record of a call that
// asks for approval.
const opApprove = "approve"

// approve returns nil if the request may run: it needs no approval, or has an approval that was not used before, which is used now. If
// the user was not asked yet, the error is a *gateway.Ask. Each request to a module that can ask passes through it, before it waits for a slot.
func (q *queued) approve(record func(audit.Operation)) error {
	given := q.Interaction.Approval
	if given == nil && q.approvalBy() == "" || !interaction.Supports(q.Method) {
		return nil
	}
	described := q.described()
	text, err := approval.Question(described)
	if err != nil {
		return q.Failure(failureNotShown, "needs the approval of the user, who cannot be shown its parameters: "+err.Error()+". Split the call, or change its arguments")
	}
	shown := approval.Digest(described)
	switch {
	case given == nil || given.Decision == "":
		return q.askApproval(text, shown)
	case given.Decision != interaction.Approved:
		return q.notApproved(given)
	case !bytes.Equal(given.Shown, shown):
		return q.Failure(failureOutdated, "did not run: what the user was shown has changed since: make the call again from its start")
	}
	if err := q.plugin.dispatcher.approvals.Use(given, q.Principal.ID, time.Now()); errors.Is(err, approval.ErrUsed) {
		return q.Failure(failureReplayed, "did not run: its approval was used before, and counts once: make the call again from its start")
	} else if err != nil {
		return q.Failure(failureUnrecorded, "did not run: "+err.Error())
	}
	if record != nil {
		record(audit.Operation{Op: opApprove, Outcome: audit.OK})
	}
	return nil
}

// approvalBy returns the key of the config that requires approval of the request; empty if none does.
func (q *queued) approvalBy() string {
	if len(q.plugin.Grant.Approve) == 0 {
		return ""
	}
	if q.tool == nil {
		return q.plugin.Grant.ApprovalBy(nil)
	}
	return q.plugin.Grant.ApprovalBy(&q.tool.Tool)
}

// described returns what the user is told about the request.
func (q *queued) described() approval.Call {
	c := q.plugin.view.catalog
	return approval.Call{
		Server: c.ServerName(), Project: c.Project, Plugin: q.plugin.Name, Version: q.plugin.Manifest.Version,
		Account: account(q.Principal), Method: q.Method, Name: q.Name, Params: q.Params,
	}
}

// account returns the name of a principal for its user; empty if there is only one.
func account(p *call.Principal) string {
	switch {
	case p.Name != "":
		return p.Name
	case p.Subject != "":
		return p.Subject
	}
	return ""
}

// askApproval returns the error that asks the user, or the failure of a request whose user cannot be asked.
func (q *queued) askApproval(text string, shown []byte) error {
	if !q.Interaction.Approver {
		f := q.Failure(failureUnable, "needs the approval of the user, who cannot be asked here: call it directly, with a client that supports elicitation by forms, or with `bulkhead call` on a terminal")
		f.Missing = interaction.Client{Form: true}
		return f
	}
	return &gateway.Ask{
		Ask: interaction.Ask{Requests: []interaction.Request{approval.Request(text)}}, PluginVersion: q.plugin.identity(), Timeout: q.plugin.Grant.Limits.Ask,
		Approval: &gateway.Approval{Approval: interaction.Approval{Shown: shown}, Text: text},
	}
}

// notApproved returns the failure of a request whose user has not approved it.
func (q *queued) notApproved(given *interaction.Approval) error {
	switch given.Decision {
	case interaction.Declined:
		return q.Failure(failureDeclined, "did not run: the user did not approve it")
	case interaction.Cancelled:
		return q.Failure(failureCancelled, "did not run: the question for approval was cancelled")
	case interaction.Expired:
		return q.Failure(failureExpired, fmt.Sprintf("did not run: it was not approved within %s: see limits.ask", q.plugin.Grant.Limits.Ask))
	}
	return q.Failure(failureUnable, "did not run: the user could not be asked for approval: "+given.Why)
}
