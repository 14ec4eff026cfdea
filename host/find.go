package host

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// find finds who answers prompts/get, resources/read and completion/complete; nil if nobody does.
func (h *Host) find(r gateway.Request) gateway.Call {
	var candidates []*plugin
	switch r.Method {
	case abi.MethodPromptsGet:
		candidates = h.offered.promptOf(r.Name)
	case abi.MethodResourcesRead:
		candidates = h.offered.resourceOf(r.Name)
	case abi.MethodComplete:
		candidates = filtered(h.referred(r.Ref), func(p *plugin) bool { return p.manifest.Offers.Completions })
	}
	switch len(candidates) {
	case 0:
		return nil
	case 1:
		return candidates[0].ask(r, false)
	}
	return &search{first: candidates[0].ask(r, false), others: candidates[1:]}
}

// referred are the plugins that may have the prompt or the resource template that a completion is for.
func (h *Host) referred(ref gateway.Reference) []*plugin {
	switch ref.Type {
	case "ref/prompt":
		return h.offered.promptOf(ref.Name)
	case "ref/resource":
		return h.offered.resourceOf(ref.URI)
	}
	return nil
}

// search asks one plugin after the other for something that none of them claims, until one has it.
type search struct {
	first  *request
	others []*plugin
	last   *request // whose answer it is
}

// Run implements gateway.Call. Of several that do not have it the last is not the one to say so: the answer
// is the host's. One that fails is passed over, unless nobody has it.
func (s *search) Run(ctx context.Context, n gateway.Notifier) (json.RawMessage, error) {
	s.last = s.first
	result, err := s.first.Run(ctx, n)
	var failure error
	for _, next := range s.others {
		switch {
		case err == nil || ctx.Err() != nil:
			return result, err
		case failure == nil && !notThere(err):
			failure = err
		}
		s.last.Answered() // its answer is none
		s.last = next.ask(s.first.Request, false)
		result, err = s.last.Run(ctx, n)
	}
	switch {
	case err == nil:
		return result, nil
	case !notThere(err):
		return nil, err
	case failure != nil:
		return nil, failure
	}
	return nil, gateway.Unknown(s.first.Method, s.first.Name, "")
}

// Answered implements gateway.Answered.
func (s *search) Answered() {
	if s.last != nil {
		s.last.Answered()
	}
}

// Failure implements gateway.Call.
func (s *search) Failure(code, message string) *gateway.Failure {
	f := s.first.Failure(code, message)
	f.Plugin = "" // which of them it was is not known here
	return f
}

// notThere tells whether a plugin answered that it has no such prompt, resource or argument.
func notThere(err error) bool {
	var own *abi.Error
	return errors.As(err, &own) && (own.Code == abi.CodeResourceNotFound || own.Code == abi.CodeInvalidParams || own.Code == abi.CodeMethodNotFound)
}
