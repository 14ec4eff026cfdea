package interaction

import (
	"crypto/rand"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Decision is what became of the question whether a call may run.
type Decision string

// The decisions. The zero value is none: the user has not answered.
const (
	Approved  Decision = "approved"
	Declined  Decision = "declined"
	Cancelled Decision = "cancelled" // the user closed the question, or the client cancelled the call
	Expired   Decision = "expired"   // no answer came in time
	Unasked   Decision = "unasked"   // the client could not be asked, or its answer is invalid
)

// Approval is the host's question whether a call may run, and its answer. It is never shown to a module.
type Approval struct {
	// ID identifies the sealed State that carries the approval, which counts once; empty if no client has kept a State.
	ID       string   `json:"id,omitempty"`
	Shown    []byte   `json:"shown"` // digest of what the user was shown
	Decision Decision `json:"decision,omitempty"`

	Why     string `json:"-"` // of Unasked
	Expires int64  `json:"-"` // when the State expires, in milliseconds since the Unix epoch
}

// Sealed returns the approval for a new State.
func (a *Approval) Sealed() *Approval {
	if a == nil {
		return nil
	}
	return &Approval{ID: rand.Text(), Shown: a.Shown, Decision: a.Decision}
}

// Spent returns the approval for a further round of a call of which the host keeps the state itself, after the ID has counted.
func (a *Approval) Spent() *Approval {
	if a == nil {
		return nil
	}
	return &Approval{Shown: a.Shown, Decision: a.Decision}
}

// ApprovalID is the id of the question for approval, and MemberApprove the field of its form.
const (
	ApprovalID    = "bulkhead_approval"
	MemberApprove = "approve"
)

// DecisionOf returns the decision in the answer to the form. Only an answer that accepts and sets the field to true approves: a client that
// accepts forms on its own, with their defaults or without content, has not asked its user. why is set if the answer is invalid.
func DecisionOf(answer []byte) (d Decision, why string) {
	if rawjson.Member(answer, "error") != nil && rawjson.Member(answer, "action") == nil {
		message, _ := rawjson.Unquote(rawjson.Member(rawjson.Member(answer, "error"), "message"))
		return Unasked, "the client refused to ask: " + message
	}
	if why := CheckAnswer(Elicitation, answer); why != "" {
		return Unasked, "its answer is invalid: " + why
	}
	switch action, _ := rawjson.Unquote(rawjson.Member(answer, "action")); action {
	case abi.ActionCancel:
		return Cancelled, ""
	case abi.ActionAccept:
		content := rawjson.Member(answer, "content")
		if rawjson.Kind(content) != '{' {
			return Declined, ""
		}
		if key, _ := rawjson.Ambiguous(content, MemberApprove); key != "" {
			return Unasked, "its answer is invalid: the field " + MemberApprove + " is ambiguous"
		}
		if string(rawjson.Member(content, MemberApprove)) == "true" {
			return Approved, ""
		}
	}
	return Declined, ""
}
