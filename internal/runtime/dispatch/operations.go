package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// operator returns the function that performs those operations of a call that the worker cannot perform: the worker's only connection is
// the one to the host. This function authorizes each request, whatever the worker has checked itself.
func (p *plugin) operator(n gateway.Notifier, session *networkSession) worker.Operate {
	return func(ctx context.Context, operation wire.Operation) wire.Reply {
		var result []byte
		var err error
		switch operation.Op {
		case abi.OpNotify:
			err = p.notify(ctx, n, operation.Params)
		case wire.OpGitUser:
			result, err = p.gitUser()
		case abi.OpClaims:
			result, err = p.foreignClaims(operation.Params)
		default:
			var known bool
			if result, err, known = session.do(ctx, operation); !known {
				err = &abi.HostError{Code: abi.HostUnavailable, Message: "this host does not support the operation: see the list of operations in docs/abi.md"}
			}
		}
		return wire.ReplyOf(result, err)
	}
}

// gitUser returns the user's configuration of git. Only operations on granted repositories need it.
func (p *plugin) gitUser() ([]byte, error) {
	if len(p.Grant.Git) == 0 {
		return nil, &abi.HostError{Code: abi.HostDenied, Message: "this plugin is granted no repository"}
	}
	return json.Marshal(p.dispatcher.gitUser())
}

// warnOfChange wraps read so that its error is logged, unless the error is the same as before: a module causes as many calls of read as
// it performs operations.
func warnOfChange(log hclog.Logger, read func() (git.UserConfig, error)) func() git.UserConfig {
	var last atomic.Value
	last.Store("")
	return func() git.UserConfig {
		user, err := read()
		what := ""
		if err != nil {
			what = err.Error()
		}
		if last.Swap(what) != what && err != nil {
			log.Warn("the user's configuration of git cannot be read", "error", err)
		}
		return user
	}
}

func (p *plugin) notify(ctx context.Context, n gateway.Notifier, params []byte) error {
	if err := rawjson.Bound(params, maxNotification, maxDepth); err != nil {
		return invalidOperation(abi.OpNotify)
	}
	var notification abi.Notification
	if err := json.Unmarshal(params, &notification); err != nil {
		return invalidOperation(abi.OpNotify)
	}
	if err := n.Notify(ctx, notification.Method, notification.Params); ctx.Err() != nil {
		return ctx.Err()
	} else if err != nil {
		return &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	return nil
}

// Bounds of the JSON in an operation's parameters, in values and levels. A few bytes from a compromised worker can take a hundred
// bytes of memory after decoding.
const (
	maxNotification = 100_000 // higher than for other operations, since notifications are passed on unchanged
	maxDepth        = abi.MaxNesting
)

func invalidOperation(op string) error {
	return &abi.HostError{Code: abi.HostInvalid, Message: op + ": the parameters of the operation are invalid"}
}

// foreignClaims returns those of the names in params that a different plugin claims.
func (p *plugin) foreignClaims(params []byte) ([]byte, error) {
	if err := rawjson.Bound(params, abi.MaxClaims+10, maxDepth); err != nil {
		return nil, invalidOperation(abi.OpClaims)
	}
	var names abi.Claims
	if err := json.Unmarshal(params, &names); err != nil {
		return nil, invalidOperation(abi.OpClaims)
	}
	if len(names.Prompts)+len(names.Resources) > abi.MaxClaims {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("claims: there are more than %d names", abi.MaxClaims)}
	}
	return json.Marshal(p.view.catalog.ClaimedByOthers(p.Plugin, names))
}

// openNetwork returns the network for the web requests and git operations of the plugin's calls. It opens no connection.
func (p *plugin) openNetwork() (*network, error) {
	fetcher, err := p.newFetcher()
	if err != nil {
		return nil, err
	}
	var remotes []string
	for _, granted := range p.Grant.Git {
		remotes = append(remotes, granted.Remotes...)
	}
	return newNetwork(fetcher, remote.NewTransport(dial.New(dial.Config{Log: p.Log}).DialContext, nil), remotes), nil
}

func (p *plugin) newFetcher() (*fetch.Fetcher, error) {
	limits := p.Grant.Limits
	c := fetch.Config{
		Limits: fetch.Limits{RequestBody: limits.HTTPRequest, ResponseBody: limits.HTTPResponse, Concurrent: limits.HTTPConcurrency},
		Log:    p.Log,
	}
	for _, granted := range p.Grant.HTTP {
		if granted.PublicWeb {
			c.PublicWeb = true
			continue
		}
		g := fetch.Grant{Origin: granted.Origin, Private: granted.Private}
		if credential := granted.Credential; credential != nil {
			g.Credential = &fetch.Credential{Header: credential.Header, Value: func(ctx context.Context) (string, error) { return p.view.generation.credential(ctx, credential) }}
		}
		c.Grants = append(c.Grants, g)
	}
	return fetch.New(c)
}

// credential returns the value of the header that c adds to requests. No error contains that value.
func (g *generation) credential(ctx context.Context, c *config.Credential) (string, error) {
	value, err := g.dispatcher.secret(ctx, g.catalog().Options.System, c)
	if err != nil {
		return "", fmt.Errorf("credential %q: %w", c.Name, err)
	}
	return c.Prefix + value, nil
}
