package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of requests to an issuer.
const (
	fetchTimeout = 10 * time.Second
	fetchPause   = 10 * time.Second // between the starts of two fetches
	refreshAfter = 15 * time.Minute
	keepKeys     = 2 * time.Hour // of an issuer that cannot be reached
	maxDocument  = 256 << 10     // bytes
	maxAddress   = 2 << 10       // bytes of the address of the keys
	maxWaiting   = 256           // tokens that wait for a fetch, at most 16 KiB each
)

// issuer is an accepted issuer with its keys.
type issuer struct {
	name   string
	client *download.Client
	log    hclog.Logger
	ctx    context.Context // of fetches

	keys    atomic.Pointer[keySet] // nil: never fetched
	waiting chan struct{}          // a semaphore of tokens that wait for a fetch

	mu       sync.Mutex
	started  time.Time     // of the last fetch
	fetching chan struct{} // closed when the fetch that runs has ended; nil: none runs
}

// current returns the keys; nil if there are none, or they are too old. It has old keys fetched again in the background.
func (i *issuer) current(now time.Time) *keySet {
	keys := i.keys.Load()
	if keys == nil {
		return nil
	}
	age := now.Sub(keys.fetched)
	if age > refreshAfter {
		i.fetch(now)
	}
	if age > keepKeys {
		return nil
	}
	return keys
}

// verify returns the keys of which one has signed a token. If none has, it fetches them again, unless that was tried just before: the issuer
// may have replaced a key, under its former ID. A client without a valid token can cause this, so the tokens that wait are bounded; those that a
// known key has signed never wait.
func (i *issuer) verify(ctx context.Context, t *token) (*keySet, error) {
	known := i.current(time.Now())
	if t.isSignedBy(known.find(t.header)) {
		return known, nil
	}
	if fetched := i.fetch(time.Now()); fetched != nil {
		if !i.await(ctx, fetched) {
			return nil, &bearer.Refused{Why: "too many tokens wait for keys of their issuer: try again later", Status: http.StatusServiceUnavailable}
		}
	}
	keys := i.current(time.Now())
	if keys == nil {
		return nil, &bearer.Refused{Why: "the keys of the token's issuer are not available: try again later", Status: http.StatusServiceUnavailable}
	}
	found := keys.find(t.header)
	if found == nil {
		return nil, refused("the issuer of the token has no such key")
	}
	if keys == known || !t.isSignedBy(found) {
		return nil, refused("the signature of the token is wrong")
	}
	return keys, nil
}

// await waits until a fetch or ctx has ended. It returns false if too many tokens wait already.
func (i *issuer) await(ctx context.Context, fetched <-chan struct{}) bool {
	select {
	case i.waiting <- struct{}{}:
	default:
		return false
	}
	defer func() { <-i.waiting }()
	select {
	case <-fetched:
	case <-ctx.Done():
	}
	return true
}

// fetch returns a channel that is closed when the keys were fetched again; nil if the last fetch was too short a time ago.
func (i *issuer) fetch(now time.Time) <-chan struct{} {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fetching != nil {
		return i.fetching
	}
	if !i.started.IsZero() && now.Sub(i.started) < fetchPause {
		return nil
	}
	ended := make(chan struct{})
	i.started, i.fetching = now, ended
	go func() {
		keys, err := i.request()
		if err == nil {
			i.keys.Store(keys)
		} else if i.ctx.Err() == nil {
			i.log.Warn("the keys of an issuer cannot be fetched: tokens are verified by those fetched before, if any", "issuer", i.name, "kept", keepKeys, "reason", err)
		}
		i.mu.Lock()
		i.fetching = nil
		i.mu.Unlock()
		close(ended)
	}()
	return ended
}

// request requests the metadata of the issuer, and then its keys.
func (i *issuer) request() (*keySet, error) {
	ctx, cancel := context.WithTimeoutCause(i.ctx, fetchTimeout, fmt.Errorf("the issuer has not answered within %s", fetchTimeout))
	defer cancel()
	address, err := i.keysURL(ctx)
	if err != nil {
		return nil, err
	}
	data, err := i.get(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	keys, err := readKeys(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &keySet{keys, digestOf(string(data)), time.Now()}, nil
}

func (i *issuer) get(ctx context.Context, address string) ([]byte, error) {
	data, err := i.client.Get(ctx, address, maxDocument)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return data, err
}

// keysURL discovers the address of the keys: by the metadata of RFC 8414, or of OpenID Connect, in the order of MCP.
func (i *issuer) keysURL(ctx context.Context) (string, error) {
	base, err := url.Parse(i.name)
	if err != nil {
		return "", err
	}
	origin, path := base.Scheme+"://"+base.Host, strings.TrimSuffix(base.EscapedPath(), "/")
	addresses := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		addresses = append(addresses, origin+path+"/.well-known/openid-configuration")
	}
	var problems []error
	for _, address := range addresses {
		data, err := i.get(ctx, address)
		if err == nil {
			var found string
			if found, err = i.readMetadata(base, data); err == nil {
				return found, nil
			}
		}
		problems = append(problems, fmt.Errorf("%s: %w", address, err))
		if ctx.Err() != nil {
			break
		}
	}
	return "", errors.Join(problems...)
}

// readMetadata returns the address of the keys that metadata of an issuer states.
func (i *issuer) readMetadata(base *url.URL, data []byte) (string, error) {
	if err := rawjson.Bound(data, 8192, maxDepth); err != nil {
		return "", err
	}
	var m struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "", errors.New("it is not metadata of an issuer")
	}
	if m.Issuer != i.name {
		return "", fmt.Errorf("it is the metadata of another issuer: write %.200q as the issuer if that one is meant", m.Issuer)
	}
	keys, err := url.Parse(m.Keys)
	if err != nil || m.Keys == "" || len(m.Keys) > maxAddress {
		return "", errors.New("it has no address of keys (jwks_uri)")
	}
	at, err := download.Origin(keys)
	if err != nil {
		return "", fmt.Errorf("jwks_uri: %w", err)
	}
	if download.IsThisMachine(at.Host) && !download.IsThisMachine(base.Hostname()) {
		return "", errors.New("jwks_uri leads to this machine")
	}
	return m.Keys, nil
}
