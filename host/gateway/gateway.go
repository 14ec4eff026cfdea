// Package gateway offers tools, prompts and resources as one MCP server over a pair of streams, which is what an MCP client
// starts a program for. New makes a Gateway from a Config and a Backend, which does the work; Serve
// speaks the protocol until the client's stream ends.
//
// The gateway owns lines, ids, order, calls in flight, notifications and the bytes of results; of the MCP
// library it uses the types and the protocol versions. It knows nothing of plugins, grants or modules: all
// of that is behind Backend.
//
// Both eras of MCP are spoken: 2024-11-05 to 2025-11-25, where a client begins with initialize, and
// 2026-07-28, where every request carries its version. No handshake is waited for.
//
// Messages are read as encoding/json reads them, with two exceptions: keys are matched exactly (not
// ignoring case), and bytes that are not UTF-8 are read as U+FFFD before anything else. Of a key given
// twice the last counts. Nesting is bounded at 10,000 levels.
package gateway

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/mark3labs/mcp-go/mcp"
)

// Defaults of a Config.
const (
	DefaultMaxLine     = 16 << 20 // bytes
	DefaultMaxInFlight = 256      // calls
)

// MaxPage is the size, in bytes, from which a backend must start another page of a list.
const MaxPage = 4 << 20

// Config says what a Gateway is. Name and Version are required.
type Config struct {
	Name         string
	Version      string
	Instructions string // for the client's model; empty: none

	// ProtocolVersions are the versions spoken, each known to the MCP library; empty means all that it
	// knows. The first older than 2026-07-28 answers an initialize that asks for one not listed.
	// Without 2026-07-28, server/discover is unknown, which makes clients begin with initialize.
	ProtocolVersions []string

	Tools  []Tool // listed in this order
	Offers Offers // beside them

	// Logging advertises the logging capability and lets the log messages of calls through: those of
	// level info and above unless the client says otherwise (logging/setLevel); in 2026-07-28 only
	// those of calls whose request names a level.
	Logging bool

	// Checked says that the backend's results have passed CheckResult; else the gateway checks them.
	Checked bool

	MaxLine     int64 // bytes of one incoming message; 0 means DefaultMaxLine
	MaxInFlight int   // calls of one client at a time, nothing is read while there are as many; 0 means DefaultMaxInFlight

	Log hclog.Logger // nil: nothing is logged
}

// Gateway is an MCP server. Serve may run several times at once; the sessions share nothing but the
// Backend.
type Gateway struct {
	config   Config
	backend  Backend
	log      hclog.Logger
	versions []string // all spoken
	legacy   []string // those of them that begin with initialize
	lists    lists
	info     []byte // serverInfo, as JSON

	mu   sync.Mutex
	open []*session
}

// New checks config and makes the answers that stay the same. An error names each fault.
func New(config Config, backend Backend) (*Gateway, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	if config.MaxLine == 0 {
		config.MaxLine = DefaultMaxLine
	}
	if config.MaxInFlight == 0 {
		config.MaxInFlight = DefaultMaxInFlight
	}
	if config.Log == nil {
		config.Log = hclog.NewNullLogger()
	}
	g := &Gateway{
		config:   config,
		backend:  backend,
		log:      config.Log,
		versions: config.ProtocolVersions,
		info:     serverInfo(config.Name, config.Version),
	}
	if len(g.versions) == 0 {
		g.versions = mcp.ValidProtocolVersions
	}
	g.legacy = slices.DeleteFunc(slices.Clone(g.versions), mcp.IsModernProtocol)
	var err error
	if g.lists, err = newLists(config.Tools, g.info); err != nil {
		return nil, err
	}
	return g, nil
}

// offersTools tells whether there are tools to list, or nothing else.
func (c Config) offersTools() bool {
	return len(c.Tools) > 0 || !c.Offers.Prompts && !c.Offers.Resources
}

func (c Config) check() error {
	var errs []error
	if c.Name == "" || c.Version == "" {
		errs = append(errs, errors.New("the server needs a name and a version"))
	}
	for _, version := range c.ProtocolVersions {
		if !mcp.IsValidProtocolVersion(version) {
			errs = append(errs, fmt.Errorf("protocol version %q is not one of %q", version, mcp.ValidProtocolVersions))
		}
	}
	if c.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("the longest line cannot be %d bytes", c.MaxLine))
	}
	if c.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("the number of calls in flight cannot be %d", c.MaxInFlight))
	}
	return errors.Join(errs...)
}

func (g *Gateway) register(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, s)
}

func (g *Gateway) unregister(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = slices.DeleteFunc(g.open, func(other *session) bool { return other == s })
}
