// Package gateway implements an MCP server. New makes a Gateway from a Config and a Backend, which executes requests.
// Gateway.Serve is the stdio transport: it serves one client until its stream ends. A transport with many
// clients, such as package httpserver, makes a session for each with Gateway.NewTransport and passes messages to it.
//
// The gateway handles framing, ids, ordering, calls in flight, notifications and the encoding of responses. It uses
// types and protocol versions of the MCP library, but not its server. It does not know plugins, grants or modules.
//
// It supports both eras of MCP: the legacy one, 2024-11-05 to 2025-11-25, in which a client begins with initialize,
// and the modern one, 2026-07-28, in which each request states its version. It does not require a handshake.
//
// A message is parsed and validated once, by the rules of encoding/json with two exceptions: keys are
// case-sensitive, and invalid UTF-8 is replaced by U+FFFD first. The last of duplicate keys counts, except where
// duplicates are refused. Nesting is limited to abi.MaxNesting levels.
package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/paramheader"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tasks"
)

// Defaults of a Config.
const (
	DefaultMaxLine     = 16 << 20 // bytes
	DefaultMaxInFlight = 256      // calls
)

// Sizes in bytes at which a backend must end a page of a list: MaxPage, or MaxWhole if clients may not support pages.
const (
	MaxPage  = 4 << 20
	MaxWhole = 16 << 20
)

// Config configures a Gateway. Name and Version are required.
type Config struct {
	Name         string
	Title        string // of the server, for people; empty: none
	Version      string
	Instructions string // for the client's model; empty: none

	// ProtocolVersions are the supported versions, each known to the MCP library; empty means all that it
	// knows. An initialize that requests any other version gets the first legacy one. Without 2026-07-28,
	// server/discover is an unknown method, so that clients begin with initialize.
	ProtocolVersions []string

	Tools  []Tool // in the order of tools/list
	Offers Offers // other than tools

	// Private states that other clients of the server get other results for the same requests, so that no cache may share them, even if the
	// backend says so.
	Private bool

	// Logging advertises the logging capability and forwards log messages of calls. A legacy client gets those
	// of level info and above, unless it sends logging/setLevel; a modern one those of requests that state a
	// level.
	Logging bool

	// Checked states that the backend applies call.Check to its results. If it is not set, the gateway applies it.
	Checked bool

	MaxLine     int64 // bytes of one incoming message; 0 means DefaultMaxLine
	MaxInFlight int   // maximum number of concurrent calls of one client, at which reading pauses; 0 means DefaultMaxInFlight

	Log hclog.Logger // nil: nothing is logged
}

// Gateway is an MCP server. Serve may be called concurrently, once for each client. Sessions share the Backend and
// get notifications about the changes of each other's calls.
type Gateway struct {
	*View       // the default one, whose clients Serve serves
	log         hclog.Logger
	maxLine     int64
	maxInFlight int
	sealer      *interaction.Sealer
	tasks       *tasks.Store // nil: no call runs as a task

	mu    sync.Mutex
	open  []*session // guarded by mu
	views []*View    // guarded by mu
}

// served is what the server offers at one time. It is immutable: a request is handled with the one that was current when
// the request was read.
type served struct {
	config   Config
	versions []string // supported
	legacy   []string // those of the legacy era
	lists    lists
	params   map[string][]paramheader.Param // by tool, of the tools that have such parameters
	tasks    map[string]TaskSupport         // by tool, of the tools whose calls can run as tasks
	info     []byte                         // member serverInfo of _meta
}

// New validates config and encodes the constant responses of the default view. The error lists every problem.
func New(config Config, backend Backend) (*Gateway, error) {
	g := &Gateway{
		log:         config.Log,
		maxLine:     cmp.Or(config.MaxLine, DefaultMaxLine),
		maxInFlight: cmp.Or(config.MaxInFlight, DefaultMaxInFlight),
		sealer:      interaction.NewSealer(),
	}
	if g.log == nil {
		g.log = hclog.NewNullLogger()
	}
	var err error
	g.View, err = g.NewView(config, backend, "")
	return g, err
}

// KeepTasks sets where calls that run as tasks are kept. It must be called before any client is served; without it no call runs as a task.
func (g *Gateway) KeepTasks(s *tasks.Store) { g.tasks = s }

// ShareState sets the secrets that this server shares with others, which then accept the state of each other's questions: see
// interaction.Sealer.Share.
func (g *Gateway) ShareState(secrets []string) { g.sealer.Share(secrets) }

func newServed(config Config) (*served, error) {
	if err := config.check(); err != nil {
		return nil, err
	}
	now := &served{config: config, versions: config.ProtocolVersions, info: serverInfo(config.Name, config.Version)}
	if len(now.versions) == 0 {
		now.versions = mcp.ValidProtocolVersions
	}
	now.legacy = slices.DeleteFunc(slices.Clone(now.versions), mcp.IsModernProtocol)
	var err error
	if now.lists, err = newLists(config.Tools, now.info); err != nil {
		return nil, err
	}
	now.params, err = findParams(config.Tools)
	now.tasks = findTasks(config.Tools)
	return now, err
}

// offersTools reports whether to advertise tools: if there are any, if Offers says so, or if nothing else is offered.
func (c Config) offersTools() bool {
	return len(c.Tools) > 0 || c.Offers.Tools || !c.Offers.Prompts && !c.Offers.Resources
}

func (c Config) check() error {
	var errs []error
	if c.Name == "" || c.Version == "" {
		errs = append(errs, errors.New("Config.Name and Config.Version are required"))
	}
	for _, version := range c.ProtocolVersions {
		if !mcp.IsValidProtocolVersion(version) {
			errs = append(errs, fmt.Errorf("protocol version %q is not one of %q", version, mcp.ValidProtocolVersions))
		}
	}
	if c.MaxLine < 0 {
		errs = append(errs, fmt.Errorf("MaxLine is negative: %d", c.MaxLine))
	}
	if c.MaxInFlight < 0 {
		errs = append(errs, fmt.Errorf("MaxInFlight is negative: %d", c.MaxInFlight))
	}
	return errors.Join(errs...)
}

func (g *Gateway) register(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = append(g.open, s)
}

// sessions returns the open sessions.
func (g *Gateway) sessions() []*session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.open)
}

func (g *Gateway) unregister(s *session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = slices.DeleteFunc(g.open, func(other *session) bool { return other == s })
}
