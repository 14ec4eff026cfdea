// Package remedy tells what decides about a refusal: the line of the config, the key that would have to change, and the command that explains
// it. It does not know whether the change would be right, and it changes nothing. What was refused may be hostile: it is quoted.
package remedy

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/bearer"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Refusal is what was refused, or ended by a limit, as the audit log has it.
type Refusal struct {
	Plugin, Method, Tool string
	Principal            string
	OverHTTP             bool // whether it is known that the client uses HTTP; a principal may tell it
	Op, Target, Code     string
}

// Remedy is what decides about a Refusal. The zero value: it is not known.
type Remedy struct {
	At      []config.Position // the lines that decide, or to which a key is added
	Why     string            // why the item is not granted
	Key     string            // key of the plugin's table, or limit of its manifest, that decides, or that is missing; empty: the line is that of another table
	Allow   string            // TOML: what the key needs; empty: it depends
	Command string            // that explains it in a terminal
}

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
	engine.CodeTimeout: "limits.time", engine.CodeFuel: "limits.fuel", engine.CodeMemory: "limits.memory", engine.CodeQueue: "limits.concurrency",
	engine.CodeInputSize: "limits.input", engine.CodeOutputSize: "limits.output", engine.CodeOperations: "limits.operations",
}

func (f *Finder) explain(refused Refusal) (r Remedy) {
	q := explain.Question{Plugin: refused.Plugin}
	kind, _, _ := strings.Cut(refused.Op, "/")
	switch {
	case strings.HasSuffix(refused.Target, "…"): // the rest is not known
		return Remedy{}
	case limitKeys[engine.Code(refused.Code)] != "":
		r.Key = limitKeys[engine.Code(refused.Code)]
	case kind == "file" && filepath.IsAbs(refused.Target):
		r.Key, q.Path = "fs", refused.Target
	case kind == "http" && strings.Contains(refused.Target, "://"):
		r.Key, q.Origin = "http", refused.Target
		r.Allow = tomlfile.Quote(refused.Target)
	case kind == "git":
		r.Key = "git"
	case strings.HasPrefix(refused.Code, "approval_"):
		r.Key = "approve"
	case refused.Method == abi.MethodToolsCall && refused.Op == "" && refused.Tool != "":
		r.Key, q.Tool = "allow_tools", refused.Tool
	default:
		return Remedy{}
	}
	if why := f.identify(&q, refused); why != "" {
		return Remedy{Why: why}
	}
	r.Command = command(f.options, q)
	answers := f.answers(q)
	if r.Key == "fs" {
		access := "r"
		if slices.ContainsFunc(answers, func(a review.Answer) bool { return a.Allowed }) {
			access = "rw" // what may be read was written
		}
		r.Allow = "{ path = " + tomlfile.Quote(refused.Target) + ", access = \"" + access + "\" }"
	}
	f.place(&r, cmp.Or(refused.Plugin, pluginOf(answers)), answers)
	return r
}

// principalBearer is the principal of the token of token_file or token_env.
const principalBearer = "bearer"

// identify sets the client of a question. It returns the reason why it cannot tell what decides for the client; empty if it can.
func (f *Finder) identify(q *explain.Question, refused Refusal) (why string) {
	switch p := refused.Principal; {
	case len(f.view.Clients.Tables) == 0: // all clients get the same
	case strings.HasPrefix(p, "token:"):
		if q.Client, q.OfClient = f.nameOf(p), true; q.Client == "" {
			return "its token does not exist any more"
		}
	case strings.HasPrefix(p, "oauth:"): // a digest of its issuer and subject, whose other claims decide too
		described := *q
		described.Client = "CLAIMS.json"
		return "the claims of its token decide: write them into a file, and see `" + command(f.options, described) + "`"
	case p == principalBearer, p == "local" && refused.OverHTTP:
		q.Client, q.OfClient = p, true
	}
	return ""
}

// tokenNames returns the names of the tokens by the principals that they stand for.
func tokenNames(o discovery.Options) map[string]string {
	names := map[string]string{}
	state, err := discovery.StateDir(o.System)
	if err != nil {
		return names
	}
	named, _ := bearer.In(state).Read() // without them nothing is known of their clients
	for i := range named {
		names[named[i].PrincipalID()] = named[i].Name
	}
	return names
}

// place sets the lines that decide, and why: those of the answers if they tell, else that of the key in the plugin's table.
func (f *Finder) place(r *Remedy, plugin string, answers []review.Answer) {
	if limit, ok := strings.CutPrefix(r.Key, "limits."); ok {
		f.placeLimit(r, plugin, limit)
		return
	}
	i := slices.IndexFunc(answers, func(a review.Answer) bool { return !a.Allowed })
	if i >= 0 {
		r.Why, r.At = answers[i].Why, answers[i].At
	}
	at := slices.IndexFunc(f.view.Plugins, func(p *catalog.Plugin) bool { return p.Name == plugin })
	if at < 0 || f.view.Plugins[at].Entry.File == "" {
		return
	}
	entry := f.view.Plugins[at].Entry
	r.Key = r.keyIn(entry)
	position := r.Key
	if entry.Lines[position] == 0 {
		position, _, _ = strings.Cut(position, ".")
	}
	switch own := entry.Position(position); {
	case len(r.At) == 0:
		r.At = []config.Position{own}
	case !slices.ContainsFunc(r.At, func(p config.Position) bool { return f.isIn(entry, p) }):
		r.Key, r.Allow = "", "" // another table decides
	}
}

// placeLimit sets where a limit comes from: the config, the ceiling, the manifest or, without a line, a default.
func (f *Finder) placeLimit(r *Remedy, plugin, limit string) {
	at := slices.IndexFunc(f.view.Plugins, func(p *catalog.Plugin) bool { return p.Name == plugin })
	if at < 0 {
		return
	}
	described := explain.PolicyOf(f.options, f.view, f.view.Plugins[at])
	if described.Policy == nil {
		return
	}
	i := slices.IndexFunc(described.Limits, func(l review.LimitRule) bool { return l.Key == limit })
	r.Why, r.At = fmt.Sprintf("the limit of %s is %s", described.Limits[i].Value, described.Limits[i].By), described.Limits[i].At
}

// isIn reports whether a line is in the table of a plugin.
func (f *Finder) isIn(entry config.Plugin, p config.Position) bool {
	between := func(table config.Position) bool {
		return table.File == p.File && entry.Line < table.Line && table.Line <= p.Line
	}
	return p.File == entry.File && p.Line >= entry.Line &&
		!slices.ContainsFunc(f.view.Plugins, func(other *catalog.Plugin) bool { return between(other.Entry.Position("")) }) &&
		!slices.ContainsFunc(f.view.Clients.Tables, func(t config.Client) bool { return between(t.Position("")) })
}

// keyIn returns the key that decides in the table of a plugin: several keys can withhold a tool, or require approval.
func (r Remedy) keyIn(entry config.Plugin) string {
	for _, key := range map[string][]string{"allow_tools": {"deny_tools", "allow_tools", "read_only"}, "approve": {"approve", "approve_tools"}}[r.Key] {
		if line := entry.Lines[key]; line > 0 && line != entry.Line {
			return key
		}
	}
	return r.Key
}

func pluginOf(answers []review.Answer) string {
	if len(answers) == 0 {
		return ""
	}
	return answers[0].Plugin
}

// answers returns what explains the item of a question; none if the question is about none.
func (f *Finder) answers(q explain.Question) []review.Answer {
	if cmp.Or(q.Tool, q.Path, q.Origin) == "" {
		return nil
	}
	found, err := explain.GrantsOf(f.options, f.view, q)
	if err != nil { // such as a tool that does not exist
		return nil
	}
	return found.Answers
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
