package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// methodMessage is the notification for log messages.
const methodMessage = "notifications/message"

// binaryAnswer is the result of an operation that is returned unchanged. Its first byte is not that of a JSON object.
type binaryAnswer []byte

// operation is a host operation. The result of the function do is encoded as JSON, unless it is a binaryAnswer; its
// error is an *abi.HostError, or the error of a context that has ended.
type operation struct {
	do     func(b *Box, ctx context.Context, params json.RawMessage) (any, error)
	target string // member of the parameters that is recorded as Operation.Target, if any
}

var operations = map[string]operation{
	abi.OpGitBranchExists:  ofGit((*git.Ops).BranchExists, "repo"),
	abi.OpGitReadFile:      ofGit((*git.Ops).ReadFile, "repo"),
	abi.OpGitFindCommit:    ofGit((*git.Ops).FindCommit, "repo"),
	abi.OpGitTopLevel:      ofGit((*git.Ops).TopLevel, "path"),
	abi.OpGitCurrentBranch: ofGit((*git.Ops).CurrentBranch, "repo"),
	abi.OpGitResolveRef:    ofGit((*git.Ops).ResolveRef, "repo"),
	abi.OpGitRemoteURL:     ofGit((*git.Ops).RemoteURL, "repo"),
	abi.OpGitIgnored:       ofGit((*git.Ops).Ignored, "repo"),
	abi.OpGitStatus:        ofGit((*git.Ops).Status, "repo"),
	abi.OpGitState:         ofGit((*git.Ops).State, "repo"),
	abi.OpGitRefs:          ofGit((*git.Ops).Refs, "repo"),
	abi.OpGitHistory:       ofGit((*git.Ops).History, "repo"),
	abi.OpGitChanges:       ofGit((*git.Ops).Changes, "repo"),
	abi.OpGitObjects:       ofGit((*git.Ops).Objects, "repo"),
	abi.OpGitAbbreviate:    ofGit((*git.Ops).Abbreviate, "repo"),
	abi.OpGitListRemote:    ofGit((*git.Ops).ListRemote, targetURL),
	abi.OpGitFetch:         ofGit((*git.Ops).Fetch, targetURL),
	abi.OpGitCommitBranch:  ofChange((*git.Ops).CommitBranch, "repo"),
	abi.OpGitAdd:           ofBox((*Box).gitAdd, "repo"),
	abi.OpGitCommit:        ofChange((*git.Ops).Commit, "repo"),
	abi.OpGitCreateBranch:  ofChange((*git.Ops).CreateBranch, "repo"),
	abi.OpGitReset:         ofChange((*git.Ops).Reset, "repo"),
	abi.OpHTTPFetch:        ofBox((*Box).fetch, targetURL),
	abi.OpFSMode:           ofBox((*Box).mode, "path"),
	abi.OpFSCreateMode:     ofBox((*Box).createMode, ""),
	abi.OpFSScan:           ofBox((*Box).scan, "path"),
	abi.OpFSGrants:         ofBox((*Box).grants, ""),
	abi.OpLock:             ofBox((*Box).lock, "name"),
	abi.OpClaims:           ofBox((*Box).claims, ""),
	abi.OpNotify:           ofBox((*Box).notify, "method"),
}

// ofBox returns the operation that a method of Box performs.
func ofBox[P, R any](do func(*Box, context.Context, P) (R, error), target string) operation {
	return operation{func(b *Box, ctx context.Context, params json.RawMessage) (any, error) {
		return with(ctx, params, func(ctx context.Context, p P) (R, error) { return do(b, ctx, p) })
	}, target}
}

// ofGit returns the operation that a method of git.Ops performs.
func ofGit[P, R any](do func(*git.Ops, context.Context, P) (R, error), target string) operation {
	return ofBox(func(b *Box, ctx context.Context, p P) (R, error) { return do(b.git, ctx, p) }, target)
}

// ofChange is ofGit for a method that changes a repository.
func ofChange[P, R any](do func(*git.Ops, context.Context, P) (R, error), target string) operation {
	return ofBox(func(b *Box, ctx context.Context, p P) (result R, err error) {
		if err := b.changingRepository(ctx); err != nil {
			return result, err
		}
		return do(b.git, ctx, p)
	}, target)
}

// byteOperations are the operations whose requests have data bytes after the JSON. They access nothing, and a call may perform any
// number of them, so only their failures are recorded.
var byteOperations = map[string]func(ctx context.Context, params json.RawMessage, data []byte) (any, error){
	abi.OpHashSHA256: func(ctx context.Context, params json.RawMessage, data []byte) (any, error) {
		return with(ctx, params, func(ctx context.Context, p abi.SHA256) (abi.SHA256Sum, error) { return hashSHA256(ctx, p, data) })
	},
}

// with decodes parameters and passes them to do. admit has already checked their size.
func with[P, R any](ctx context.Context, params json.RawMessage, do func(context.Context, P) (R, error)) (any, error) {
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, invalidParams(err)
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

func (b *Box) claims(ctx context.Context, names abi.Claims) (any, error) {
	switch {
	case len(names.Prompts)+len(names.Resources) > abi.MaxClaims:
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("claims: there are more than %d names", abi.MaxClaims)}
	case b.config.Claimed == nil:
		return abi.Claims{}, nil
	}
	return b.config.Claimed(ctx, names)
}

// Operate answers a module's abi.HostRequest with an abi.HostResponse, or with the binary result of an operation.
func (b *Box) Operate(ctx context.Context, request []byte) []byte {
	result, err := b.perform(ctx, request)
	if answer, ok := result.(binaryAnswer); ok && err == nil {
		return answer
	}
	var response abi.HostResponse
	if err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil && !errors.As(err, &response.Error) {
		response = abi.HostResponse{Error: &abi.HostError{Code: abi.HostFailed, Message: err.Error(), Reason: abi.ReasonOf(err)}}
	}
	answer, err := json.Marshal(response)
	if err != nil {
		panic(fmt.Errorf("cannot encode the answer to an operation: %w", err))
	}
	return answer
}

func (b *Box) perform(ctx context.Context, request []byte) (any, error) {
	request, data, hasBytes := cutBytes(request)
	var r abi.HostRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: "the request is not an operation: " + bounded(err.Error())}
	}
	o, ok := b.operation(r.Op)
	withBytes, takesBytes := byteOperations[r.Op]
	if !ok && !takesBytes {
		return nil, &abi.HostError{Code: abi.HostUnavailable, Message: fmt.Sprintf("this host does not support the operation %q: see the list of operations in docs/abi.md", bounded(r.Op))}
	}
	var result any
	var err error
	if hasBytes && !takesBytes {
		// The engine does not count this operation, so it must have no effect, not even a log line.
		err = &abi.HostError{Code: abi.HostInvalid, Message: r.Op + ": bytes follow the JSON of the request, but this operation takes no data"}
	} else {
		err = b.admit(r)
	}
	switch {
	case err != nil:
	case takesBytes:
		result, err = withBytes(ctx, r.Params, data)
	default:
		result, err = o.do(b, ctx, r.Params)
	}
	if record := callOf(ctx).record; record != nil && !(takesBytes && err == nil) {
		record(auditRecord(r, o.target, err))
	}
	return result, err
}

// callTools is the operation by which a script calls tools. Its result is a JSON array.
var callTools = operation{func(b *Box, ctx context.Context, calls json.RawMessage) (any, error) {
	results, err := b.config.Call(ctx, calls)
	return binaryAnswer(results), err
}, ""}

// operation returns the operation with a name.
func (b *Box) operation(name string) (operation, bool) {
	if name == abi.MethodToolsCall && b.config.Call != nil {
		return callTools, true
	}
	o, ok := operations[name]
	return o, ok
}

// cutBytes separates the JSON of a request from the data bytes that follow it.
func cutBytes(request []byte) (text, data []byte, found bool) {
	at := bytes.IndexByte(request[:min(len(request), abi.MaxBeforeBytes+1)], 0)
	if at < 0 {
		return request, nil, false
	}
	return request[:at], request[at+1:], true
}

// targetURL is the parameter with a URL. Only the URL's origin is recorded, since the rest may be secret.
const targetURL = "url"

func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "" // the operation refuses the URL; any part of it may be secret
	}
	return u.Scheme + "://" + u.Host
}

// auditRecord returns the audit record of an operation.
func auditRecord(r abi.HostRequest, target string, err error) Operation {
	o := Operation{Op: r.Op}
	if r.Op == abi.OpLock && rawjson.Member(r.Params, "folder") != nil {
		target = "folder" // record the locked directory, not the name: it is what other calls wait for
	}
	if text := rawjson.Member(r.Params, target); target != "" && text != nil {
		o.Target, _ = rawjson.Unquote(text)
		if target == targetURL {
			o.Target = originOf(o.Target)
		}
		o.Target = bounded(o.Target)
	}
	if failure := (*abi.HostError)(nil); errors.As(err, &failure) {
		o.Code = failure.Code
	} else if err != nil {
		o.Code = abi.HostFailed
	}
	return o
}
