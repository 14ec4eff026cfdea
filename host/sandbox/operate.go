package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// methodMessage is the notification that carries a log message.
const methodMessage = "notifications/message"

// operation is one operation of the host's. The result of do is encoded as JSON; its error is an
// *abi.HostError or that of a context that ended.
type operation struct {
	do     func(b *Box, ctx context.Context, params json.RawMessage) (any, error)
	target string // the parameters' member that says what they are about, for the audit; empty: none does
}

var operations = map[string]operation{
	abi.OpGitBranchExists: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.BranchExists)
	}, "repo"},
	abi.OpGitReadFile: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.ReadFile)
	}, "repo"},
	abi.OpGitFindCommit: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.FindCommit)
	}, "repo"},
	abi.OpGitTopLevel: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.TopLevel)
	}, "path"},
	abi.OpGitCurrentBranch: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.CurrentBranch)
	}, "repo"},
	abi.OpGitResolveRef: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.ResolveRef)
	}, "repo"},
	abi.OpGitRemoteURL: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.RemoteURL)
	}, "repo"},
	abi.OpGitIgnored: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.Ignored)
	}, "repo"},
	abi.OpGitStatus: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.Status)
	}, "repo"},
	abi.OpGitCommitBranch: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.CommitBranch)
	}, "repo"},
	abi.OpGitListRemote: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.ListRemote)
	}, targetURL},
	abi.OpGitFetch: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.git.Fetch)
	}, targetURL},
	abi.OpHTTPFetch: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.fetch)
	}, targetURL},
	abi.OpFSMode: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.mode)
	}, "path"},
	abi.OpLock: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.lock)
	}, "name"},
	abi.OpClaims: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.claims)
	}, ""},
	abi.OpNotify: {func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, b.notify)
	}, "method"},
}

// with decodes an operation's parameters.
func with[P, R any](ctx context.Context, params json.RawMessage, do func(context.Context, P) (R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "the parameters are not of the operation's form: " + err.Error()}
	}
	return do(ctx, p)
}

func (b *Box) notify(ctx context.Context, n abi.Notification) (any, error) {
	to := callOf(ctx).notifier
	if to == nil || n.Method == methodMessage && !b.config.Messages {
		return nil, nil
	}
	if err := to.Notify(n.Method, n.Params); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	return nil, nil
}

func (b *Box) fetch(ctx context.Context, q abi.HTTPRequest) (abi.HTTPResponse, error) {
	if b.config.Fetch == nil {
		return abi.HTTPResponse{}, &abi.HostError{Code: abi.HostUnavailable, Message: "http/fetch: this host has no network"}
	}
	return b.config.Fetch(ctx, q)
}

func (b *Box) claims(_ context.Context, names abi.Claims) (any, error) {
	switch {
	case len(names.Prompts)+len(names.Resources) > abi.MaxClaims:
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("claims: more than %d names", abi.MaxClaims)}
	case b.config.Claimed == nil:
		return abi.Claims{}, nil
	}
	return b.config.Claimed(names), nil
}

// Operate answers a module's abi.HostRequest with an abi.HostResponse.
func (b *Box) Operate(ctx context.Context, request []byte) []byte {
	result, err := b.perform(ctx, request)
	var response abi.HostResponse
	if err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil && !errors.As(err, &response.Error) {
		response = abi.HostResponse{Error: &abi.HostError{Code: abi.HostFailed, Message: err.Error()}}
	}
	answer, err := json.Marshal(response)
	if err != nil {
		panic(fmt.Errorf("encode the answer to an operation: %w", err))
	}
	return answer
}

func (b *Box) perform(ctx context.Context, request []byte) (any, error) {
	var r abi.HostRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "the request is not an operation: " + err.Error()}
	}
	o, ok := operations[r.Op]
	if !ok {
		return nil, &abi.HostError{Code: abi.HostUnavailable, Message: fmt.Sprintf("this host has no operation %q", bounded(r.Op))}
	}
	result, err := o.do(b, ctx, r.Params)
	if record := callOf(ctx).record; record != nil {
		record(done(r, o.target, err))
	}
	return result, err
}

// targetURL is the member that holds a URL, of which only the origin is recorded: the rest may be secret.
const targetURL = "url"

func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "" // refused, and nobody knows what is in it
	}
	return u.Scheme + "://" + u.Host
}

// done says of an operation what an audit keeps.
func done(r abi.HostRequest, target string, err error) Operation {
	done := Operation{Op: r.Op}
	if r.Op == abi.OpLock && rawjson.Member(r.Params, "folder") != nil {
		target = "folder" // of which others are kept out, by whatever name
	}
	if text := rawjson.Member(r.Params, target); target != "" && text != nil {
		done.Target, _ = rawjson.Unquote(text)
		if target == targetURL {
			done.Target = originOf(done.Target)
		}
		done.Target = bounded(done.Target)
	}
	if failure := (*abi.HostError)(nil); errors.As(err, &failure) {
		done.Code = failure.Code
	} else if err != nil {
		done.Code = abi.HostFailed
	}
	return done
}
