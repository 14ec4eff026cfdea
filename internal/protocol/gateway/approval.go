package gateway

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// canApprove reports whether the user of a client of the legacy era, or of a local one, can be asked whether a call may run.
func (s *session) canApprove() bool {
	if s.local != nil {
		return s.local.Approve != nil
	}
	return s.can.Form
}

// decided returns the approval of a State with the decision of the client's responses; nil if the State has none, or if it has expired after
// the user has approved.
func decided(a *interaction.Approval, responses []byte, expired bool) *interaction.Approval {
	switch {
	case a == nil, expired && a.Decision != "":
		return nil
	case a.Decision != "":
		return a
	case expired:
		a.Decision = interaction.Expired
		return a
	}
	for id, answer := range rawjson.Members(responses) {
		switch {
		case id != interaction.ApprovalID:
		case a.Decision != "":
			a.Decision, a.Why = interaction.Unasked, "there are several answers"
		default:
			a.Decision, a.Why = interaction.DecisionOf(answer)
		}
	}
	return a
}

// askApproval has the user asked whether the call may run. A client of the modern era gets the question as the result. Any other one is
// asked, and the decision is the backend's to execute, whatever it is: so it is recorded.
func (c *clientRequest) askApproval(ctx context.Context, queued Queued, ask *Ask) (result []byte, again bool, err *abi.Error) {
	if c.meta.modern {
		result, err = c.inputRequired(ask)
		return result, false, err
	}
	approval := ask.Approval.Approval
	approval.Decision, approval.Why = c.collectDecision(ctx, queued, ask)
	c.Interaction.PluginVersion, c.Interaction.Approval = ask.PluginVersion, &approval
	return nil, true, nil
}

// collectDecision asks a client of the legacy era, or a local one.
func (c *clientRequest) collectDecision(ctx context.Context, queued Queued, ask *Ask) (d interaction.Decision, why string) {
	s := c.session
	s.calls.pause(c.entry)
	defer s.calls.resume(c.entry, 0)
	if s.local != nil {
		limited, cancel := context.WithTimeout(ctx, ask.Timeout)
		defer cancel()
		d, err := s.local.Approve(limited, ask.Approval.Text)
		switch {
		case ctx.Err() != nil:
			return interaction.Cancelled, ""
		case limited.Err() != nil:
			return interaction.Expired, ""
		case err != nil:
			return interaction.Unasked, err.Error()
		}
		return d, ""
	}
	answers := maps.Clone(c.Interaction.Answers) // which count towards the bound
	if answers == nil {
		answers = map[string]json.RawMessage{}
	}
	switch failure, err := c.exchange(ctx, queued, ask, answers); {
	case err != nil: // the call was cancelled, or the session has ended
		return interaction.Cancelled, ""
	case failure != nil && failure.Code == failureTimeout:
		return interaction.Expired, ""
	case failure != nil:
		return interaction.Unasked, failure.Message
	}
	return interaction.DecisionOf(answers[interaction.ApprovalID])
}
