// Package remedy tells what decides about a refusal: the line of the config, the key that would have to change, and the command that explains
// it. What is not certain is left out. It does not know whether the change would be right, and it changes nothing. What was refused may be
// hostile: it is quoted, and nothing outside of granted directories is looked at.
package remedy

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Refusal is what was refused, or ended by a limit, as the audit log has it.
type Refusal struct {
	Plugin, Method, Tool string
	Principal            string
	Transport            string // of the server: stdio or http; empty: it is not known, but a principal may tell it
	Elsewhere            string // why the directories of the Finder's config may be those of another project; empty: they are not
	Op, Target, Code     string
}

// Remedy is what decides about a Refusal. The zero value: it is not known.
type Remedy struct {
	At      []config.Position // the lines that decide, or to which a key is added
	Why     string            // why the item is not granted
	Key     string            // that decides in the first line, or is missing there, or limit of a manifest; empty: it depends
	Allow   string            // TOML: what the key needs; empty: it depends
	Command string            // that explains it in a terminal

	isGranted bool // whether the item is granted by now
}

// overHTTP is the transport of the clients that [[clients]] is about.
const overHTTP = "http"

// granted is the remedy of what the config grants by now.
func granted(why string) Remedy { return Remedy{Why: "granted now: " + why, isGranted: true} }

// Finder finds remedies in one state of the config.
type Finder struct {
	options discovery.Options
	view    *catalog.Catalog
	known   map[Refusal]Remedy
	names   map[string]string // of tokens, by their principals; nil: not read yet
}

// New returns a Finder for view, without which it only names clients. It is for one goroutine.
func New(o discovery.Options, view *catalog.Catalog) *Finder {
	return &Finder{options: o, view: view, known: map[Refusal]Remedy{}}
}

// Look returns a Finder for the config in force. With an error, whose reason doctor explains, it may only name clients.
func Look(o discovery.Options) (*Finder, error) {
	view, err := catalog.Look(o)
	return New(o, view), err
}

// Policies returns what the config in force grants.
func (f *Finder) Policies() (explain.Policies, error) {
	return explain.GrantsOf(f.options, f.view, explain.Question{})
}

// Find returns the remedy of a refusal.
func (f *Finder) Find(r Refusal) Remedy {
	found, ok := f.known[r]
	if !ok {
		found = f.explain(r)
		f.known[r] = found
	}
	return found
}

// limitKeys are the keys of limits by the code of the failure that they cause.
var limitKeys = map[engine.Code]string{
	engine.CodeTimeout: "time", engine.CodeFuel: "fuel", engine.CodeMemory: "memory", engine.CodeQueue: "concurrency",
	engine.CodeInputSize: "input", engine.CodeOutputSize: "output", engine.CodeOperations: "operations", engine.CodeLogSize: "log",
}

// rulesOfHost are why something is refused that no config decides, by the code of the refusal.
var rulesOfHost = map[string]string{
	catalog.Writes:           hosttool.Read + " and scripts call only tools that read",
	catalog.Reads:            hosttool.Write + " calls only tools that write",
	catalog.Indirect:         "no tool of the host and no script may call it: only clients do, directly",
	string(engine.CodeStack): "the depth of a module's calls has a bound that no key changes",
}

// explain finds out what the refusal is about, and for whom.
func (f *Finder) explain(r Refusal) Remedy {
	switch {
	case strings.HasSuffix(r.Target, "…"), strings.HasSuffix(r.Tool, "…"): // the rest is not known
		return Remedy{}
	case r.Code == httpserver.RefusedClient, r.Code == httpserver.RefusedQuota, r.Code == httpserver.RefusedMetrics:
		return f.ofHTTP(r)
	case r.Op == "" && r.Tool == hosttool.Result: // which may have expired
		return Remedy{}
	}
	whole := f.owner(r)
	switch {
	case whole == nil && r.Plugin != "":
		return Remedy{Why: "the config has no such plugin now"}
	case whole == nil && r.Code == catalog.Unknown && r.Op == "" && offerOf(r.Method) != "":
		return Remedy{Why: "no plugin has it"}
	case whole == nil:
		return Remedy{}
	case r.Op == "" && rulesOfHost[r.Code] != "":
		return Remedy{Why: rulesOfHost[r.Code]}
	case r.Elsewhere != "" && (isOfFile(r.Op) || strings.HasPrefix(r.Op, "git/") || r.Code == catalog.LeftOut || whole.Grant.LeftOut != ""):
		return Remedy{Why: r.Elsewhere}
	}
	s, q := &subject{finder: f, refused: r, whole: whole}, explain.Question{Plugin: whole.Name}
	find := s.finderOf(&q)
	if find == nil {
		return Remedy{}
	}
	client, unknown := f.clientOf(r, &q)
	found := Remedy{}
	if plugin, reason := client.plugin(f.view, whole); whole.Problem != "" {
		found.Why, q = "the plugin is left out: "+whole.Problem, explain.Question{Plugin: whole.Name}
	} else if reason.By != "" {
		found.Why, found.At = reason.By, reason.At
		if len(reason.At) > 0 {
			found.Key = "plugins"
		}
	} else {
		s.client, s.plugin, s.about = client, plugin, explain.SubjectOf(f.options, f.view, plugin)
		found = find()
	}
	// Tables of [[clients]] only narrow: what the rest of the config withholds, it withholds from every client.
	if isOfLimit := limitKeys[engine.Code(r.Code)] != "" || strings.HasPrefix(r.Code, "approval_"); unknown != "" && (isOfLimit || found.isGranted || found.Why == "") {
		return Remedy{Why: unknown}
	}
	if !whole.IsHost() {
		found.Command = command(f.options, q)
	}
	return found
}

// owner returns the plugin that has what was requested, or has done what was refused; nil if there is none.
func (f *Finder) owner(r Refusal) *catalog.Plugin {
	switch {
	case r.Plugin != "":
		return f.view.Plugin(r.Plugin)
	case r.Op != "" || offerOf(r.Method) == "" || r.Tool == "":
		return nil
	}
	var all []*catalog.Plugin
	switch offerOf(r.Method) {
	case offersTools:
		if t := f.view.Tool(r.Tool); t != nil {
			all = append(all, t.Plugin)
		}
	case offersPrompts:
		all = f.view.WithPrompt(r.Tool)
	case offersResources:
		all = f.view.WithResource(r.Tool)
	}
	if len(all) > 0 {
		return all[0]
	}
	_, p := f.view.Refusal(call.Request{Method: r.Method, Name: r.Tool})
	return p
}

// The values of offerOf.
const (
	offersTools, offersPrompts, offersResources = "tools", "prompts", "resources"
)

// offerOf returns which of a plugin's offers a method requests by name; empty if it is none.
func offerOf(method string) string {
	switch {
	case method == abi.MethodToolsCall:
		return offersTools
	case method == abi.MethodPromptsGet:
		return offersPrompts
	case strings.HasPrefix(method, "resources/"):
		return offersResources
	}
	return ""
}

// finderOf returns the function that finds the remedy, and adds to q what it is about; nil if there is no remedy for such a refusal.
func (s *subject) finderOf(q *explain.Question) func() Remedy {
	r := s.refused
	kind, rest, _ := strings.Cut(r.Op, "/")
	offer := offerOf(r.Method)
	if offer == offersTools && r.Op == "" {
		q.Tool = r.Tool
	}
	switch {
	case r.Op == "" && limitKeys[engine.Code(r.Code)] != "":
		q.Tool = ""
		return func() Remedy { return s.limit(limitKeys[engine.Code(r.Code)]) }
	case r.Op == "" && strings.HasPrefix(r.Code, "approval_"):
		return s.approval
	case r.Op == "" && offer == offersTools && r.Tool != "" && isOfCatalog(r.Code):
		return s.tool
	case r.Op == "" && offer != "" && r.Tool != "" && isOfCatalog(r.Code):
		return func() Remedy { return s.offer(offer) }
	case r.Op == abi.OpHTTPFetch && strings.Contains(r.Target, "://"):
		q.Origin = r.Target
		return s.origin
	case kind == "ask":
		return func() Remedy { return s.ask(rest) }
	case kind == "git":
		return s.git
	case isOfFile(r.Op) && isLocalPath(r.Target):
		q.Path = r.Target
		return s.path
	}
	return nil
}

// isOfCatalog reports whether a code is that of a request for something that the config withholds, or no plugin has.
func isOfCatalog(code string) bool {
	return code == catalog.NotGranted || code == catalog.LeftOut || code == catalog.Unknown
}

// isOfFile reports whether the target of an operation is the path of a file.
func isOfFile(op string) bool {
	return strings.HasPrefix(op, "file/") || op == abi.OpFSMode || op == abi.OpFSScan || op == abi.OpLock
}

// isLocalPath reports whether a path is absolute, and does not name another machine.
func isLocalPath(path string) bool {
	return filepath.IsAbs(path) && !strings.HasPrefix(path, "//") && !strings.HasPrefix(path, `\\`)
}

// clientOf returns the client of a refusal, which it adds to q; nil if no table of [[clients]] is about it. unknown is the reason why it cannot
// tell what decides for the client; empty if it can.
func (f *Finder) clientOf(r Refusal, q *explain.Question) (c *client, unknown string) {
	p := &call.Principal{ID: r.Principal}
	switch {
	case len(f.view.Clients.Tables) == 0: // all clients get the same
		return nil, ""
	case strings.HasPrefix(p.ID, "token:"):
		if p.Name = f.NameOf(p.ID); p.Name == "" {
			return nil, "its token does not exist any more"
		}
	case strings.HasPrefix(p.ID, "oauth:"): // a digest of its issuer and subject, whose other claims decide too
		described := *q
		described.Client = "CLAIMS.json"
		return nil, "the claims of its token decide: write them into a file, and see `" + command(f.options, described) + "`"
	case p.ID == call.BearerID, p.ID == call.LocalID && r.Transport == overHTTP:
	case p.ID == call.LocalID && r.Transport == "":
		if table, admitted := f.view.Clients.Of(p); table != nil || !admitted {
			return nil, "it is not known whether the client used HTTP, for which [[clients]] decides"
		}
		return nil, ""
	default:
		return nil, ""
	}
	q.Client = cmp.Or(p.Name, p.ID)
	found := explain.FindClient(f.view, q.Client, p)
	return &client{found, f.view.Clients.Table(found.Table)}, ""
}

// command returns the command line that answers a question.
func command(o discovery.Options, q explain.Question) string {
	words := []string{"policy"}
	if q.Plugin != "" {
		words = append(words, q.Plugin)
	}
	for _, flag := range [][2]string{{"--tool", q.Tool}, {"--path", q.Path}, {"--origin", q.Origin}, {"--client", q.Client}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return terminal.Command(o, words...)
}
